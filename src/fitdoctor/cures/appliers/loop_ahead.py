"""`for batch in batches():` becomes `for batch in fitdoctor.read_ahead(batches()):`."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.calls import called_name
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import with_names
from fitdoctor.cures.names import bound_in, names_in
from fitdoctor.findings.edits import FITDOCTOR, ReadAheadInLoop

AHEAD = "fitdoctor.read_ahead"
# What only counts or pairs: the batches come from elsewhere.
_COUNTS = frozenset({"range", "count", "trange"})


@applied.register
def read_ahead_in_loop(edit: ReadAheadInLoop, draft: Draft) -> Draft:
    """Wrap what the loop goes over."""
    _refuse(draft, _loop_at(draft, edit.where.line))
    loop = _loop_at(draft, edit.where.line)
    draft, ahead = with_names(draft, loop, f"{AHEAD}(", (FITDOCTOR,))
    loop = _loop_at(draft, edit.where.line)
    begin, end = draft.start(loop.iter), draft.end(loop.iter)
    return draft.spliced(Splice(begin, begin, ahead), Splice(end, end, ")"))


def _loop_at(draft: Draft, recorded_line: int) -> cst.For:
    line = draft.line_now(recorded_line)
    found = [one for one in draft.nodes(cst.For) if draft.lines(one).start == line]
    if len(found) != 1:
        raise DeclinedEdit(f"line {recorded_line} does not begin one for loop")
    return found[0]


def _refuse(draft: Draft, loop: cst.For) -> None:
    source = loop.iter
    if loop.asynchronous is not None:
        raise DeclinedEdit("the loop is asynchronous")
    if isinstance(source, cst.Tuple | cst.List) or loop.iter.lpar:
        raise DeclinedEdit("the loop goes over a list that is written out")
    name = called_name(source) if isinstance(source, cst.Call) else None
    if name == AHEAD.rpartition(".")[2]:
        raise AlreadyThere("the loop reads ahead already")
    if name in _COUNTS:
        raise DeclinedEdit(f"the loop goes over {name}(): its batches come from elsewhere")
    if not isinstance(source, cst.Call) and _leaves_early(loop):
        raise DeclinedEdit("the loop ends early: what was read ahead would be missing after it")
    varying = bound_in(draft, loop.body)
    for one in names_in(draft, source):
        if one.value in varying:
            raise DeclinedEdit(f"{one.value}, which the loop goes over, changes in the loop")


def _leaves_early(loop: cst.For) -> bool:
    return bool(m.findall(loop.body, m.Break() | m.Return()))
