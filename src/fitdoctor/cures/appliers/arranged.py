"""Calls of a pipeline in another order: links of one chain, or statements of one variable."""

from __future__ import annotations

import itertools
import re

import libcst as cst

from fitdoctor.cures.calls import called_name, calls_at
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.statements import assigned_name, next_statement, statement_of
from fitdoctor.findings.edits import CACHE, ArrangeCalls

_NEXT_STATEMENT = re.compile(r"\n[ \t]*\w+[ \t]*=[ \t]*\w+\Z")


@applied.register
def arrange_calls(edit: ArrangeCalls, draft: Draft) -> Draft:
    """Put the texts of the calls into the places of each other."""
    line, name = edit.calls[-1]
    ends = calls_at(draft, line, name)
    found = [links for end in ends if (links := _links(draft, end, edit.calls)) is not None]
    if len(found) != 1:
        raise DeclinedEdit("the calls are not one chain, or follow each other in another way")
    places = [_span(draft, call) for call in found[0]]
    texts = [draft.text[start:end] for start, end in places]
    if any("#" in text for text in _between(draft, places)):
        raise DeclinedEdit("comments are between the calls")
    after = [_with_cache(texts[n], is_cached=n == edit.cached) for n in edit.order]
    if after == texts:
        raise AlreadyThere("the calls are in this order")
    splices = [Splice(*place, text) for place, text in zip(places, after, strict=True)]
    return draft.spliced(*splices)


def _with_cache(text: str, *, is_cached: bool) -> str:
    return text + CACHE if is_cached else text


def _span(draft: Draft, call: cst.Call) -> tuple[int, int]:
    """From a call's dot to its closing parenthesis."""
    return draft.start(cst.ensure_type(call.func, cst.Attribute).dot), draft.end(call)


def _between(draft: Draft, places: list[tuple[int, int]]) -> list[str]:
    """What is between links of one chain; a comment there belongs to one of them."""
    pairs = itertools.pairwise(places)
    gaps = [draft.text[one[1] : two[0]] for one, two in pairs]
    return [gap for gap in gaps if not _NEXT_STATEMENT.search(gap)]


def _links(
    draft: Draft, last: cst.Call, wanted: tuple[tuple[int, str], ...]
) -> list[cst.Call] | None:
    """The calls as written, found from the last one inwards and upwards."""
    found: list[cst.Call] = []
    call: cst.BaseExpression | None = last
    for line, name in reversed(wanted):
        if not isinstance(call, cst.Call):
            call = _call_before(draft, found[-1]) if found else None
        if not isinstance(call, cst.Call) or called_name(call) != name:
            return None
        if not isinstance(call.func, cst.Attribute) or draft.line_now(line) not in draft.lines(
            call
        ):
            return None
        found.append(call)
        call = call.func.value
    return found[::-1]


def _call_before(draft: Draft, call: cst.Call) -> cst.Call | None:
    """Of `d = d.map(f)` above `d = d.batch(n)`, the call of the first."""
    variable = cst.ensure_type(call.func, cst.Attribute).value
    statement = statement_of(draft, call)
    if not isinstance(variable, cst.Name):
        return None
    block = draft.parent(statement)
    body = list(block.body) if isinstance(block, cst.IndentedBlock | cst.Module) else []
    above = next((one for one in body if next_statement(draft, one) is statement), None)
    if above is None or assigned_name(above, None) != variable.value:
        return None
    if assigned_name(statement, None) != variable.value:
        return None
    value = cst.ensure_type(cst.ensure_type(above, cst.SimpleStatementLine).body[0], cst.Assign)
    return value.value if isinstance(value.value, cst.Call) else None
