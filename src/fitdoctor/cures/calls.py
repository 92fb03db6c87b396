"""Find the call at a recorded line, and take its arguments apart."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.draft import DeclinedEdit, Draft

# Names that libraries spell like a constant: replacing them overrides nobody's variable.
_CONSTANTS = frozenset({"AUTOTUNE"})
_WRITTEN_OUT = _CONSTANTS | {"None", "True", "False"}


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
    named_here = [call for call in spanning if draft.lines(name_token(call) or call).start == line]
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


def keyword_argument(call: cst.Call, keyword: str) -> cst.Arg | None:
    """The argument that is given by this name."""
    named = (one for one in call.args if one.keyword is not None and one.keyword.value == keyword)
    return next(named, None)


def positional(call: cst.Call) -> list[cst.Arg]:
    """The arguments that are given without a name."""
    return [one for one in call.args if one.keyword is None and not one.star]


def refuse_stars(call: cst.Call, keyword: str) -> None:
    """Decline where an argument may be hidden in `*args` or `**kwargs`.

    Raises:
        DeclinedEdit: The call has such arguments.
    """
    for argument in call.args:
        if argument.star:
            hidden = cst.Module([]).code_for_node(argument.value)[:40]
            raise DeclinedEdit(f"{argument.star}{hidden} may already carry {keyword}")


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
    return given[position] if position is not None and len(given) > position else None


def value_start(draft: Draft, argument: cst.Arg) -> int:
    """Where an argument's value begins, with the parentheses that it may be in."""
    if argument.keyword is None:
        return draft.start(argument)
    equal = draft.text.index("=", draft.end(argument.keyword)) + 1
    return equal + len(draft.text[equal:]) - len(draft.text[equal:].lstrip())


def is_constant(value: cst.BaseExpression) -> bool:
    """Whether a value is written out, rather than taken from a variable."""
    if isinstance(value, cst.Integer | cst.Float | cst.SimpleString | cst.ConcatenatedString):
        return True
    if isinstance(value, cst.Name):
        return value.value in _WRITTEN_OUT
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.expression, cst.Integer | cst.Float)
    return isinstance(value, cst.Attribute) and value.attr.value in _CONSTANTS


def text_of(value: cst.BaseExpression | None) -> str | None:
    """The text that a string literal holds."""
    text = value.evaluated_value if isinstance(value, cst.SimpleString) else None
    return text if isinstance(text, str) else None


def is_sole_generator(call: cst.Call) -> bool:
    """Whether the only argument is a bare generator expression, which allows no other."""
    return len(call.args) == 1 and m.matches(call.args[0].value, m.GeneratorExp(lpar=[]))


def same_code(one: str, other: str) -> bool:
    """Whether two pieces of source differ in white space only."""
    return "".join(one.split()) == "".join(other.split())
