"""Edits of a chain of calls: `dataset.map(f).batch(n)`."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.calls import called_name, find_call, same_code
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import call_with_names
from fitdoctor.cures.names import is_bound_here, names_in
from fitdoctor.cures.statements import (
    assigned_name,
    next_statement,
    put_before,
    scope_of,
    statement_of,
)
from fitdoctor.findings.edits import FITDOCTOR, AppendCall, DatasetOption, ReadPacked, SwapCalls

_COMMENT = re.compile(r"[ \t]*#[^\r\n]*")
_LINE_BREAK = re.compile(r"[ \t]*(\\?)(\r\n?|\n)[ \t]*\Z")
# Names for the options object, the first that the file does not use.
_OPTION_NAMES = ("options", "dataset_options", "pipeline_options")


class _Link(NamedTuple):
    """One `.call(...)` of a chain: from its dot to its closing parenthesis."""

    call: cst.Call
    start: int
    end: int


@applied.register
def append_call(edit: AppendCall, draft: Draft) -> Draft:
    """Put another call after one of a chain."""
    draft, call, text = call_with_names(draft, edit.where.line, edit.call, edit.text, edit.imports)
    return _appended(draft, call, text)


@applied.register
def read_packed(edit: ReadPacked, draft: Draft) -> Draft:
    """Have what a call gives stored once and read from then on."""
    if edit.dest is None:
        raise DeclinedEdit("no folder was named for the data")
    text = f".apply(fitdoctor.packed({_quoted(edit.dest)}))"
    return append_call(AppendCall(edit.where, edit.call, text, (FITDOCTOR,)), draft)


def _quoted(text: str) -> str:
    # Double quotes, as formatters have them, unless that would need an escape.
    plain = text.isprintable() and not set(text) & set('"\\')
    return f'"{text}"' if plain else repr(text)


@applied.register
def dataset_option(edit: DatasetOption, draft: Draft) -> Draft:
    """Give a dataset an option: an object made before the statement, and with_options."""
    find_call(draft, edit.where.line, edit.call)  # where there is none, that is the reason
    _refuse_other_setting(draft, edit)
    draft, call, made = call_with_names(
        draft, edit.where.line, edit.call, "tf.data.Options()", edit.imports
    )
    name = _free_name(draft)
    draft = put_before(draft, call, [f"{name} = {made}", f"{name}.{edit.option} = {edit.value}"])
    call = find_call(draft, edit.where.line, edit.call)
    return _appended(draft, call, f".with_options({name})")


def _refuse_other_setting(draft: Draft, edit: DatasetOption) -> None:
    for assignment in draft.nodes(cst.Assign):
        target = assignment.targets[0].target
        is_attribute = isinstance(target, cst.Attribute)
        if is_attribute and draft.code(target).endswith("." + edit.option):
            value = draft.code(assignment.value)
            if same_code(value, edit.value):
                raise AlreadyThere(f"{edit.option} is {value}")
            line = draft.lines(assignment).start
            raise DeclinedEdit(f"{edit.option} is set to {value[:40]} at line {line}")


def _free_name(draft: Draft) -> str:
    used = {name.value for name in draft.nodes(cst.Name)}
    numbered = (f"pipeline_options_{number}" for number in range(2, 100))
    return next(name for name in (*_OPTION_NAMES, *numbered) if name not in used)


def _appended(draft: Draft, call: cst.Call, text: str) -> Draft:
    following = _next_link(draft, call)
    if following is not None and same_code(draft.text[following.start : following.end], text):
        raise AlreadyThere(f"{text} is there")
    line_break = _line_break(draft, call, following)
    end = draft.end(call)
    if line_break is None:
        return draft.spliced(Splice(end, end, text))
    offset = draft.past(_COMMENT, end)
    return draft.spliced(Splice(offset, offset, line_break + text))


def _line_break(draft: Draft, call: cst.Call, following: _Link | None) -> str | None:
    """What comes before each dot of a chain with a call per line; None for one line."""
    for link in (_link(draft, call), following):
        if link is None or not isinstance(link.call.func, cst.Attribute):
            continue
        before = draft.text[draft.end(link.call.func.value) : link.start]
        found = _LINE_BREAK.search(before)
        if found is not None:
            continued = " \\" if found[1] else ""
            return continued + found[2] + found[0].rpartition(found[2])[2]
    return None


def _link(draft: Draft, call: cst.Call) -> _Link | None:
    if not isinstance(call.func, cst.Attribute):
        return None
    return _Link(call, draft.start(call.func.dot), draft.end(call))


def _next_link(draft: Draft, call: cst.Call) -> _Link | None:
    """The call that is made on what this call returns."""
    attribute = draft.parent(call)
    if not isinstance(attribute, cst.Attribute) or attribute.value is not call:
        return None
    outer = draft.parent(attribute)
    if not isinstance(outer, cst.Call) or outer.func is not attribute:
        return None
    return _link(draft, outer)


@applied.register
def swap_calls(edit: SwapCalls, draft: Draft) -> Draft:
    """Move a call right after a later one of its chain."""
    call = find_call(draft, edit.where.line, edit.first)
    links = [one for one in (_link(draft, call),) if one is not None]
    while links and (following := _next_link(draft, links[-1].call)) is not None:
        links.append(following)
        if called_name(following.call) == edit.second:
            return _moved_after(draft, links)
    if _is_before(call, edit.second):
        raise AlreadyThere(f"{edit.second}() comes before {edit.first}()")
    if edit.second_where is not None and edit.second_where.line != edit.where.line:
        return _repeated_after(draft, call, edit, edit.second_where.line)
    return _swapped_statements(draft, call, edit)


def _repeated_after(draft: Draft, call: cst.Call, edit: SwapCalls, line: int) -> Draft:
    """`whole = source.map(f)` stays; `whole.skip(n)` becomes `source.skip(n).map(f)`."""
    first, name = _link(draft, call), assigned_name(statement_of(draft, call), call)
    second = find_call(draft, line, edit.second)
    apart = DeclinedEdit(f"{edit.second}() is not called on what {edit.first}() returns")
    if first is None or name is None or not isinstance(call.func, cst.Attribute):
        raise apart
    if _is_before(second, edit.first) or not isinstance(second.func, cst.Attribute):
        raise apart
    used, source = second.func.value, call.func.value
    following = _next_link(draft, second)
    if following is not None and called_name(following.call) == edit.first:
        raise AlreadyThere(f"{edit.second}() comes before {edit.first}()")
    if not isinstance(used, cst.Name) or used.value != name or not isinstance(source, cst.Name):
        raise apart
    scope = scope_of(draft, call)
    if scope_of(draft, second) is not scope:
        raise apart
    # Repeated at another line, every name must still mean the same.
    mentions = names_in(draft, scope)
    bound = [mention.value for mention in mentions if is_bound_here(draft, mention)]
    for one in (name, *(mention.value for mention in names_in(draft, call))):
        if bound.count(one) > 1:
            raise DeclinedEdit(f"{one} is assigned more than once")
    text = draft.text[first.start : first.end]
    if "\n" in text or "\r" in text:
        raise DeclinedEdit(f"{edit.first}() is written over several lines")
    draft = draft.spliced(draft.instead(used, source.value))
    return _appended(draft, find_call(draft, line, edit.second), text)


def _is_before(call: cst.Call, name: str) -> bool:
    inner = call.func
    while isinstance(inner, cst.Attribute) and isinstance(inner.value, cst.Call):
        if called_name(inner.value) == name:
            return True
        inner = inner.value.func
    return False


def _moved_after(draft: Draft, links: list[_Link]) -> Draft:
    """The first of the links after the last; what is between them stays in place."""
    # Comments go with their calls, if every call has its line.
    pieces = [(one.start, draft.past(_COMMENT, one.end)) for one in links]
    commented = [one.end for one in links] != [end for _, end in pieces]
    if commented and any(draft.line_end(end) != end for _, end in pieces):
        raise DeclinedEdit("comments are between the calls")
    texts = [draft.text[start:end] for start, end in pieces]
    between = [draft.text[one[1] : two[0]] for one, two in itertools.pairwise(pieces)]
    if any("#" in gap for gap in between):
        raise DeclinedEdit("comments are between the calls")
    order = [*texts[1:], texts[0]]
    joined = order[0] + "".join(gap + text for gap, text in zip(between, order[1:], strict=True))
    return draft.spliced(Splice(pieces[0][0], pieces[-1][1], joined))


def _swapped_statements(draft: Draft, call: cst.Call, edit: SwapCalls) -> Draft:
    """`d = d.map(f)` and `d = d.batch(n)` below it: the two calls change places."""
    first = _link(draft, call)
    statement = statement_of(draft, call)
    following = next_statement(draft, statement)
    name = assigned_name(statement, call)
    inner = _on_name(following, name) if following is not None and name is not None else None
    second = _link(draft, inner) if inner is not None else None
    if first is None or second is None or called_name(second.call) != edit.second:
        raise DeclinedEdit(f"{edit.second}() is not in the same chain as {edit.first}()")
    if following is None or assigned_name(following, None) != name:
        raise DeclinedEdit(f"{name} is used before {edit.second}() is called on it")
    one, two = draft.text[first.start : first.end], draft.text[second.start : second.end]
    return draft.spliced(Splice(first.start, first.end, two), Splice(second.start, second.end, one))


def _on_name(statement: cst.CSTNode, name: str) -> cst.Call | None:
    """The call that a statement makes right on a variable, as its only use of it."""
    uses = m.findall(statement, m.Name(name))
    calls = m.findall(statement, m.Call(func=m.Attribute(value=m.Name(name))))
    # One use as the target, one as what the call is made on.
    return cst.ensure_type(calls[0], cst.Call) if len(calls) == 1 and len(uses) == 2 else None
