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
    last_comma_end,
    name_token,
    positional,
    refuse_stars,
    same_code,
    value_start,
)
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.functions import functions_at, parameter_names
from fitdoctor.cures.imports import with_names
from fitdoctor.findings.edits import (
    CallInstead,
    DropKeyword,
    RenameCall,
    RenameKeyword,
    SetKeyword,
    WrapArgument,
)
from fitdoctor.findings.place import ANYWHERE

_COMMENT_LEFT = re.compile(r"[ \t]*#[^\r\n]*")
_SPACE = re.compile(r"[ \t]*")
# Values of arguments that a shorter call would use anyway, and so may lose.
_HARMLESS = {"epochs": "1", "initial_epoch": "0", "steps_per_epoch": "1", "steps": "1"}


@applied.register
def set_keyword(edit: SetKeyword, draft: Draft) -> Draft:
    """Give a call a keyword, or the keyword another value."""
    if edit.where.line == ANYWHERE:
        return _set_everywhere(draft, edit)
    call = find_call(draft, edit.where.line, edit.call)
    given = argument_of(call, edit.keyword, edit.position)
    draft, value = with_names(draft, call, edit.value, edit.imports)
    call = find_call(draft, edit.where.line, edit.call)
    if given is None:
        return draft.spliced(*_added(draft, call, f"{edit.keyword}={value}"))
    given = argument_of(call, edit.keyword, edit.position)
    if given is None:
        raise DeclinedEdit(f"{edit.keyword} was not found again")
    if same_code(draft.code(given.value), value):
        raise AlreadyThere(f"{edit.call}() has {edit.keyword}={value}")
    if not is_constant(given.value) and not edit.overrides:
        raise DeclinedEdit(f"{edit.keyword} comes from `{draft.code(given.value)[:60]}`")
    begin = draft.start(given)
    if given.keyword is not None:
        return draft.spliced(Splice(draft.start(given.value), draft.end(given.value), value))
    return draft.spliced(Splice(begin, draft.end(given), value))


def _set_everywhere(draft: Draft, edit: SetKeyword) -> Draft:
    """Another value where the keyword is given, which is the same everywhere."""
    values = [argument.value for _, argument in _given(draft, edit.call, edit.keyword)]
    if len({draft.code(value) for value in values}) > 1:
        raise DeclinedEdit(f"calls of {edit.call}() are given different {edit.keyword}")
    if all(same_code(draft.code(value), edit.value) for value in values):
        raise AlreadyThere(f"{edit.call}() has {edit.keyword}={edit.value}")
    return draft.spliced(*(Splice(draft.start(v), draft.end(v), edit.value) for v in values))


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
        if not is_constant(argument.value):
            raise DeclinedEdit(f"{keyword} comes from `{draft.code(argument.value)[:60]}`")
    return found


@applied.register
def drop_keyword(edit: DropKeyword, draft: Draft) -> Draft:
    """Take a keyword out of a call."""
    if edit.where.line == ANYWHERE:
        found = _given(draft, edit.call, edit.keyword)
        splices = [_removed(draft, call, argument) for call, argument in found]
        return draft.spliced(*(splice for one in splices for splice in one))
    call = find_call(draft, edit.where.line, edit.call)
    given = keyword_argument(call, edit.keyword)
    if given is None:
        refuse_stars(call, edit.keyword)
        raise DeclinedEdit(f"{edit.call}() is not given {edit.keyword} here; it is set elsewhere")
    if not is_constant(given.value):
        raise DeclinedEdit(f"{edit.keyword} comes from `{draft.code(given.value)[:60]}`")
    return draft.spliced(*_removed(draft, call, given))


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
    splices: list[Splice] = []
    for call, argument in found:
        token = argument.keyword
        if keyword_argument(call, edit.to) is not None:
            splices += _removed(draft, call, argument)
        elif token is not None:
            splices.append(Splice(draft.start(token), draft.end(token), edit.to))
    return draft.spliced(*splices)


@applied.register
def call_instead(edit: CallInstead, draft: Draft) -> Draft:
    """Call another function with the same arguments."""
    last = edit.to.rpartition(".")[2]
    for call in calls_at(draft, edit.where.line, last):
        if same_code(draft.code(call.func), edit.to):
            raise AlreadyThere(f"{edit.to}() is called")
    call = find_call(draft, edit.where.line, edit.call)
    draft, name = with_names(draft, call, edit.to, edit.imports)
    call = find_call(draft, edit.where.line, edit.call)
    return draft.spliced(Splice(draft.start(call.func), draft.end(call.func), name))


@applied.register
def rename_call(edit: RenameCall, draft: Draft) -> Draft:
    """Call another method, without the arguments that it does not know."""
    if not calls_at(draft, edit.where.line, edit.call) and calls_at(
        draft, edit.where.line, edit.to
    ):
        raise AlreadyThere(f"{edit.to}() is called")
    call = find_call(draft, edit.where.line, edit.call)
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
    draft = draft.spliced(Splice(draft.start(token), draft.end(token), edit.to))
    for keyword in edit.drop:
        call = find_call(draft, edit.where.line, edit.to)
        given = keyword_argument(call, keyword)
        if given is not None:
            draft = draft.spliced(*_removed(draft, call, given))
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
    call = find_call(draft, edit.where.line, edit.call)
    name, position = _which(draft, edit)
    given = argument_of(call, name, position)
    if given is None:
        raise DeclinedEdit(f"{edit.call}() is not given {name or position} here")
    code = draft.code(given.value)
    draft, before = with_names(draft, call, edit.before, edit.imports)
    if code.startswith((before, edit.before)):
        raise AlreadyThere(f"{edit.call}() is given {code[:40]}")
    call = find_call(draft, edit.where.line, edit.call)
    found = argument_of(call, name, position)
    if found is None:
        raise DeclinedEdit(f"{edit.call}() is not given {name or position} here")
    begin, end = value_start(draft, found), draft.end(found)
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
        begin = _open_paren(draft, call)
        return [Splice(begin, begin, argument)]
    last = call.args[-1]
    indent = draft.indent_at(draft.start(last))
    comma = last_comma_end(draft, call.args)
    end = comma if comma is not None else draft.end(last)
    if indent is None:
        text = f" {argument}," if comma is not None else f", {argument}"
        return [Splice(end, end, text)]
    new_line = draft.newline + indent + argument + ("," if comma is not None else "")
    comment = _COMMENT_LEFT.match(draft.text, end)
    if comment is None:
        return [Splice(end, end, new_line if comma is not None else "," + new_line)]
    # The comment belongs to the argument before it.
    if comma is not None:
        return [Splice(comment.end(), comment.end(), new_line)]
    return [Splice(end, end, ","), Splice(comment.end(), comment.end(), new_line)]


def _open_paren(draft: Draft, call: cst.Call) -> int:
    """The offset after the call's own opening parenthesis."""
    return draft.text.index("(", draft.end(call.func)) + 1


def _removed(draft: Draft, call: cst.Call, argument: cst.Arg) -> list[Splice]:
    """The splices that take an argument away, and its line where it has one of its own."""
    place = list(call.args).index(argument)
    begin, end = draft.start(argument), draft.end(argument)
    comma = argument.comma
    if isinstance(comma, cst.Comma):
        end = draft.end(comma)
    after = _SPACE.match(draft.text, end)
    end_of_space = after.end() if after else end
    indent = draft.indent_at(begin)
    if indent is not None and end_of_space == draft.line_end(end):
        # A line of its own: it goes with its newline.
        return [Splice(begin - len(indent), draft.after_newline(end_of_space), "")]
    if isinstance(comma, cst.Comma) and (place < len(call.args) - 1 or indent is not None):
        return [Splice(begin, end_of_space, "")]
    if place == 0:
        return [Splice(begin, end, "")]
    previous = call.args[place - 1]
    # After a comment, the comma before may stay: it is a trailing one.
    if "#" in draft.text[draft.end(previous) : begin]:
        return [Splice(begin, end, "")]
    keep = "," if isinstance(comma, cst.Comma) else ""
    return [Splice(draft.end(previous), end, keep)]
