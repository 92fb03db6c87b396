"""Find the call at a recorded line, and take its arguments apart."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.declined import DeclinedEdit
from fitdoctor.cures.draft import Draft

# Names that libraries spell like a constant: replacing them overrides nobody's variable.
_CONSTANTS = frozenset({"AUTOTUNE"})
_LITERALS = (
    cst.Integer,
    cst.Float,
    cst.SimpleString,
    cst.ConcatenatedString,
)


def name_token(call: cst.Call) -> cst.Name | None:
    """The last part of the called name: `map` of `dataset.map(f)`."""
    if isinstance(call.func, cst.Name):
        return call.func
    if isinstance(call.func, cst.Attribute):
        return call.func.attr
    return None


def called_name(call: cst.Call) -> str | None:
    """The last part of the called name as text."""
    token = name_token(call)
    return token.value if token is not None else None


def calls_at(draft: Draft, recorded_line: int, name: str) -> list[cst.Call]:
    """The calls of this name that a recorded line may mean.

    Python reports the line of the called name; for a call over several lines, any of its
    lines is taken where that gives one call.
    """
    line = draft.line_now(recorded_line)
    spanning = [
        call
        for call in draft.nodes(cst.Call)
        if called_name(call) == name and line in draft.lines(call)
    ]
    named_here = [call for call in spanning if draft.lines(_token(call)).start == line]
    return named_here or spanning


def find_call(draft: Draft, recorded_line: int, name: str) -> cst.Call:
    """The one call of this name at a recorded line.

    Raises:
        DeclinedEdit: There is none, or more than one.
    """
    found = calls_at(draft, recorded_line, name)
    if not found:
        raise DeclinedEdit(f"no call of {name}() was found at line {recorded_line}")
    if len(found) > 1:
        raise DeclinedEdit(f"line {recorded_line} has {len(found)} calls of {name}()")
    return found[0]


def _token(call: cst.Call) -> cst.CSTNode:
    token = name_token(call)
    return token if token is not None else call


def keyword_argument(call: cst.Call, keyword: str) -> cst.Arg | None:
    """The argument that is given by this name."""
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == keyword:
            return argument
    return None


def positional(call: cst.Call) -> list[cst.Arg]:
    """The arguments that are given without a name."""
    return [one for one in call.args if one.keyword is None and not one.star]


def refuse_stars(call: cst.Call, keyword: str) -> None:
    """Decline where an argument may be hidden in `*args` or `**kwargs`.

    Raises:
        DeclinedEdit: The call has such arguments.
    """
    for argument in call.args:
        if argument.star == "**":
            raise DeclinedEdit(f"**{_short(argument)} may already carry {keyword}")
        if argument.star == "*":
            raise DeclinedEdit(f"*{_short(argument)} may already carry {keyword}")


def _short(argument: cst.Arg) -> str:
    return cst.Module([]).code_for_node(argument.value)[:40]


def argument_of(call: cst.Call, name: str, position: int | None) -> cst.Arg | None:
    """A parameter's argument, by name or by position; None where its default holds.

    Raises:
        DeclinedEdit: It may be hidden in `*args` or `**kwargs`.
    """
    named = keyword_argument(call, name)
    if named is not None:
        return named
    refuse_stars(call, name)
    given = positional(call)
    if position is not None and len(given) > position:
        return given[position]
    return None


def value_start(draft: Draft, argument: cst.Arg) -> int:
    """Where an argument's value begins, with the parentheses that it may be in."""
    if argument.keyword is None:
        return draft.start(argument)
    equal = draft.text.index("=", draft.end(argument.keyword)) + 1
    return equal + len(draft.text[equal:]) - len(draft.text[equal:].lstrip())


def is_constant(value: cst.BaseExpression) -> bool:
    """Whether a value is written out, rather than taken from a variable."""
    if isinstance(value, _LITERALS):
        return True
    if isinstance(value, cst.Name):
        return value.value in ("None", "True", "False") or value.value in _CONSTANTS
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.expression, cst.Integer | cst.Float)
    return isinstance(value, cst.Attribute) and value.attr.value in _CONSTANTS


def is_sole_generator(call: cst.Call) -> bool:
    """Whether the only argument is a bare generator expression, which allows no other."""
    return len(call.args) == 1 and m.matches(call.args[0].value, m.GeneratorExp(lpar=[]))


def same_code(one: str, other: str) -> bool:
    """Whether two pieces of source differ in white space only."""
    return "".join(one.split()) == "".join(other.split())


def last_comma_end(draft: Draft, arguments: Sequence[cst.Arg]) -> int | None:
    """The offset after a trailing comma, or None without one."""
    comma = arguments[-1].comma
    return draft.end(comma) if isinstance(comma, cst.Comma) else None
