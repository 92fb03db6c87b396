"""Edits of one call's arguments: set, drop, wrap; and the call's name."""

from __future__ import annotations

import re

import libcst as cst

from fitdoctor.cures.calls import (
    argument_of,
    called_name,
    calls_at,
    find_call,
    is_constant,
    is_sole_generator,
    keyword_argument,
    name_token,
    positional,
    refuse_stars,
    same_code,
    value_start,
)
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import call_with_names
from fitdoctor.cures.statements import functions_at, parameter_names
from fitdoctor.findings.edits import (
    CallInstead,
    DropKeyword,
    RenameCall,
    RenameKeyword,
    SetKeyword,
    WrapArgument,
)
from fitdoctor.findings.place import ANYWHERE

_COMMENT = re.compile(r"[ \t]*#[^\r\n]*")
_SPACE = re.compile(r"[ \t]*")
# Values of arguments that a shorter call would use anyway, and so may lose.
_HARMLESS = {"epochs": "1", "initial_epoch": "0", "steps_per_epoch": "1", "steps": "1"}


@applied.register
def set_keyword(edit: SetKeyword, draft: Draft) -> Draft:
    """Give a call a keyword, or the keyword another value."""
    if edit.where.line == ANYWHERE:
        return _set_everywhere(draft, edit)
    draft, call, value = call_with_names(
        draft, edit.where.line, edit.call, edit.value, edit.imports
    )
    given = argument_of(call, edit.keyword, edit.position)
    if given is None:
        return draft.spliced(*_added(draft, call, f"{edit.keyword}={value}"))
    if same_code(draft.code(given.value), value):
        raise AlreadyThere(f"{edit.call}() has {edit.keyword}={value}")
    if not edit.overrides:
        _refuse_computed(draft, edit.keyword, given)
    return draft.spliced(draft.instead(given if given.keyword is None else given.value, value))


def _set_everywhere(draft: Draft, edit: SetKeyword) -> Draft:
    """Another value where the keyword is given, which is the same everywhere."""
    values = [argument.value for _, argument in _given(draft, edit.call, edit.keyword)]
    if len({draft.code(value) for value in values}) > 1:
        raise DeclinedEdit(f"calls of {edit.call}() are given different {edit.keyword}")
    if all(same_code(draft.code(value), edit.value) for value in values):
        raise AlreadyThere(f"{edit.call}() has {edit.keyword}={edit.value}")
    return draft.spliced(*(draft.instead(value, edit.value) for value in values))


def _given(draft: Draft, name: str, keyword: str) -> list[tuple[cst.Call, cst.Arg]]:
    """The calls in the file that are given a keyword, and what they are given.

    Raises:
        DeclinedEdit: There is none, or one is given what a variable holds.
    """
    calls = [call for call in draft.nodes(cst.Call) if called_name(call) == name]
    pairs = [(call, keyword_argument(call, keyword)) for call in calls]
    found = [(call, argument) for call, argument in pairs if argument is not None]
    if not found:
        raise DeclinedEdit(f"no call of {name}() in this file is given {keyword}")
    for _, argument in found:
        _refuse_computed(draft, keyword, argument)
    return found


def _refuse_computed(draft: Draft, keyword: str, given: cst.Arg) -> None:
    if not is_constant(given.value):
        raise DeclinedEdit(f"{keyword} comes from `{draft.code(given.value)[:60]}`")


@applied.register
def drop_keyword(edit: DropKeyword, draft: Draft) -> Draft:
    """Take a keyword out of a call."""
    if edit.where.line == ANYWHERE:
        found = _given(draft, edit.call, edit.keyword)
        return draft.spliced(*(_removed(draft, call, argument) for call, argument in found))
    call = find_call(draft, edit.where.line, edit.call)
    given = keyword_argument(call, edit.keyword)
    if given is None:
        refuse_stars(call, edit.keyword)
        raise DeclinedEdit(f"{edit.call}() is not given {edit.keyword} here; it is set elsewhere")
    _refuse_computed(draft, edit.keyword, given)
    return draft.spliced(_removed(draft, call, given))


@applied.register
def rename_keyword(edit: RenameKeyword, draft: Draft) -> Draft:
    """Give what one keyword is given to another one."""
    if edit.where.line == ANYWHERE:
        found = _given(draft, edit.call, edit.keyword)
    else:
        call = find_call(draft, edit.where.line, edit.call)
        given = keyword_argument(call, edit.keyword)
        if given is None:
            raise DeclinedEdit(f"{edit.call}() is not given {edit.keyword} here")
        found = [(call, given)]
    splices = [
        _removed(draft, call, argument)
        if keyword_argument(call, edit.to) is not None
        else draft.instead(cst.ensure_type(argument.keyword, cst.Name), edit.to)
        for call, argument in found
    ]
    return draft.spliced(*splices)


@applied.register
def call_instead(edit: CallInstead, draft: Draft) -> Draft:
    """Call another function with the same arguments."""
    last = edit.to.rpartition(".")[2]
    for call in calls_at(draft, edit.where.line, last):
        if same_code(draft.code(call.func), edit.to):
            raise AlreadyThere(f"{edit.to}() is called")
    draft, call, name = call_with_names(draft, edit.where.line, edit.call, edit.to, edit.imports)
    return draft.spliced(draft.instead(call.func, name))


@applied.register
def rename_call(edit: RenameCall, draft: Draft) -> Draft:
    """Call another method, without the arguments that it does not know."""
    line = edit.where.line
    if not calls_at(draft, line, edit.call) and calls_at(draft, line, edit.to):
        raise AlreadyThere(f"{edit.to}() is called")
    call = find_call(draft, line, edit.call)
    if not edit.same_result and not isinstance(draft.parent(call), cst.Expr):
        raise DeclinedEdit(f"what {edit.call}() returns is used, and {edit.to}() returns another")
    refuse_stars(call, "arguments that the other call does not take")
    if len(positional(call)) > edit.positional:
        raise DeclinedEdit(f"{edit.to}() takes fewer arguments without a name")
    for argument in call.args:
        _refuse_unknown(draft, edit, argument)
    token = name_token(call)
    if token is None:
        raise DeclinedEdit(f"{edit.call}() is called in an unusual way")
    draft = draft.spliced(draft.instead(token, edit.to))
    for keyword in edit.drop:
        call = find_call(draft, line, edit.to)
        given = keyword_argument(call, keyword)
        if given is not None:
            draft = draft.spliced(_removed(draft, call, given))
    return draft


def _refuse_unknown(draft: Draft, edit: RenameCall, argument: cst.Arg) -> None:
    name = argument.keyword.value if argument.keyword is not None else None
    if name is None or name in edit.takes:
        return
    value = draft.code(argument.value)
    if name not in edit.drop:
        raise DeclinedEdit(f"{edit.to}() does not take {name}")
    if name in _HARMLESS and value != _HARMLESS[name]:
        raise DeclinedEdit(f"{name}={value[:40]} asks for more than one step")


@applied.register
def wrap_argument(edit: WrapArgument, draft: Draft) -> Draft:
    """Put a call around one argument."""
    name, position = _which(draft, edit)
    draft, call, before = call_with_names(
        draft, edit.where.line, edit.call, edit.before, edit.imports
    )
    given = argument_of(call, name, position)
    if given is None:
        raise DeclinedEdit(f"{edit.call}() is not given {name or position} here")
    code = draft.code(given.value)
    if code.startswith((before, edit.before)):
        raise AlreadyThere(f"{edit.call}() is given {code[:40]}")
    begin, end = value_start(draft, given), draft.end(given)
    return draft.spliced(Splice(begin, begin, before), Splice(end, end, edit.after))


def _which(draft: Draft, edit: WrapArgument) -> tuple[str, int | None]:
    """The parameter's name, and its position as the definition has it."""
    if isinstance(edit.argument, int):
        return "", edit.argument
    if edit.position is not None:
        return edit.argument, edit.position
    if edit.definition is None or edit.definition.file != edit.where.file:
        return edit.argument, None
    for function in functions_at(draft, edit.definition.line):
        names = parameter_names(function)
        if function.name.value == edit.call and edit.argument in names:
            return edit.argument, names.index(edit.argument) - (names[0] == "self")
    return edit.argument, None


# -- layout ------------------------------------------------------------------------------


def _added(draft: Draft, call: cst.Call, argument: str) -> list[Splice]:
    """The splices that add an argument after the others, laid out as they are."""
    if is_sole_generator(call):
        raise DeclinedEdit("the only argument is a bare generator expression")
    if not call.args:
        begin = draft.text.index("(", draft.end(call.func)) + 1
        return [Splice(begin, begin, argument)]
    last = call.args[-1]
    comma = last.comma if isinstance(last.comma, cst.Comma) else None
    end = draft.end(comma or last)
    missing, trailing = (",", "") if comma is None else ("", ",")
    indent = draft.indent_at(draft.start(last))
    if indent is None:
        return [Splice(end, end, f"{missing} {argument}{trailing}")]
    new_line = draft.newline + indent + argument + trailing
    comment_end = draft.past(_COMMENT, end)
    if comment_end == end:
        return [Splice(end, end, missing + new_line)]
    # The comment belongs to the argument before it.
    return [Splice(end, end, missing), Splice(comment_end, comment_end, new_line)]


def _removed(draft: Draft, call: cst.Call, argument: cst.Arg) -> Splice:
    """The splice that takes an argument away, and its line where it has one of its own."""
    place = list(call.args).index(argument)
    comma = argument.comma if isinstance(argument.comma, cst.Comma) else None
    begin, end = draft.start(argument), draft.end(comma or argument)
    end_of_space = draft.past(_SPACE, end)
    indent = draft.indent_at(begin)
    if indent is not None and end_of_space == draft.line_end(end):
        # A line of its own: it goes with its newline.
        return Splice(begin - len(indent), draft.after_newline(end_of_space), "")
    if comma is not None and (place < len(call.args) - 1 or indent is not None):
        return Splice(begin, end_of_space, "")
    # After a comment, the comma before may stay: it is a trailing one.
    if place == 0 or "#" in draft.text[draft.end(call.args[place - 1]) : begin]:
        return Splice(begin, end, "")
    return Splice(draft.end(call.args[place - 1]), end, "," if comma is not None else "")
