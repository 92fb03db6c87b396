"""A loop that does nothing but call `fit` for one epoch becomes one call for all of them."""

from __future__ import annotations

import re

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.appliers.arguments import set_keyword
from fitdoctor.cures.calls import argument_of, find_call
from fitdoctor.cures.draft import DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.names import bound_in, names_in
from fitdoctor.cures.statements import is_only, loops_around, scope_of, statement_of
from fitdoctor.findings.edits import OneFit, SetKeyword

_EPOCHS = 3  # the place of fit's parameter
# What counts epochs, or keeps something from call to call: parameter, place, values that do not.
_COUNTING = (("callbacks", 5, ("None", "[]")), ("initial_epoch", 11, ("0",)))


@applied.register
def one_fit(edit: OneFit, draft: Draft) -> Draft:
    """Take the loop away, and give `fit` its number of rounds."""
    call = find_call(draft, edit.where.line, "fit")
    loop = _loop_of(draft, call)
    rounds = _rounds(draft, loop)
    _refuse_changing(draft, call, loop)
    _refuse_counting(draft, call)
    draft = set_keyword(SetKeyword(edit.where, "fit", "epochs", rounds, _EPOCHS), draft)
    call = find_call(draft, edit.where.line, "fit")
    return _out_of(draft, _loop_of(draft, call), call)


def _loop_of(draft: Draft, call: cst.Call) -> cst.For:
    """The loop around the call, which has nothing else in it."""
    statement = statement_of(draft, call)
    loops = loops_around(draft, call)
    if not loops:
        raise DeclinedEdit("fit() is not in a loop here")
    loop = loops[0]
    if not isinstance(loop, cst.For) or loop.asynchronous is not None or loop.orelse is not None:
        raise DeclinedEdit("the loop around fit() does not count its rounds")
    if list(loop.body.body) != [statement]:
        raise DeclinedEdit("the loop around fit() does something else as well")
    if not is_only(statement, call):
        raise DeclinedEdit("what fit() returns is used, or more is on its line")
    return loop


def _rounds(draft: Draft, loop: cst.For) -> str:
    """The source of the number of rounds."""
    if not m.matches(loop.iter, m.Call(m.Name("range"), [m.Arg(keyword=None, star="")])):
        raise DeclinedEdit(f"the loop goes over `{draft.code(loop.iter)[:40]}`")
    return draft.code(cst.ensure_type(loop.iter, cst.Call).args[0].value)


def _refuse_changing(draft: Draft, call: cst.Call, loop: cst.For) -> None:
    """Decline where a round trains on something else than the one before."""
    varying = bound_in(draft, loop)
    for name in names_in(draft, call):
        if name.value in varying:
            raise DeclinedEdit(f"fit() uses {name.value}, which changes in the loop")
    for argument in call.args:
        if m.findall(argument.value, m.Call() | m.Await() | m.Yield()):
            made = draft.code(argument.value)[:40]
            raise DeclinedEdit(f"fit() is given `{made}`, made again in each round")
    for name in names_in(draft, scope_of(draft, loop)):
        is_later = draft.start(name) >= draft.end(loop)
        if name.value in varying and is_later and not _is_assigned_again(draft, name):
            raise DeclinedEdit(f"{name.value} is used after the loop")


def _is_assigned_again(draft: Draft, name: cst.Name) -> bool:
    """Whether another loop around it gives the variable its value."""
    loops = [one for one in draft.ancestors(name) if isinstance(one, cst.For)]
    return any(m.findall(loop.target, m.Name(name.value)) for loop in loops)


def _refuse_counting(draft: Draft, call: cst.Call) -> None:
    for parameter, place, harmless in _COUNTING:
        given = argument_of(call, parameter, place)
        if given is not None and draft.code(given.value) not in harmless:
            raise DeclinedEdit(f"fit() is given {parameter}, which one call would see otherwise")
    epochs = argument_of(call, "epochs", _EPOCHS)
    if epochs is not None and draft.code(epochs.value) != "1":
        raise DeclinedEdit(f"each round has epochs={draft.code(epochs.value)[:40]}")


def _out_of(draft: Draft, loop: cst.For, call: cst.Call) -> Draft:
    """The call's lines where the loop was; comments stay."""
    code = draft.code(call)
    if '"""' in code or "'''" in code:  # moving its lines would change the text in it
        raise DeclinedEdit("fit() has long strings in it")
    outside = draft.indent_at(draft.start(loop))
    inside = draft.indent_at(draft.start(statement_of(draft, call)))
    if outside is None or inside is None or not inside.startswith(outside):
        raise DeclinedEdit("another statement is on the same line")
    begin = draft.line_start(draft.lines(loop).start)
    head_end = draft.line_end(draft.end(loop.iter))
    comment = re.search(r"#[^\r\n]*", draft.text[draft.end(loop.iter) : head_end])
    kept = f"{outside}{comment[0]}{draft.newline}" if comment else ""
    lines = [
        Splice(start, start + len(inside), outside)
        for start in (draft.line_start(one) for one in draft.lines(loop))
        if start > head_end and draft.text.startswith(inside, start)
    ]
    return draft.spliced(Splice(begin, draft.after_newline(head_end), kept), *lines)
