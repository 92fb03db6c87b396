"""Edits that take work out of a loop: a cast of arrays, a repeated compile."""

from __future__ import annotations

import re

import libcst as cst

from fitdoctor.cures.calls import argument_of, called_name, find_call, positional
from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.names import bound_in, is_bound_here, names_in
from fitdoctor.cures.statements import is_only, loops_around, put_before, scope_of, statement_of
from fitdoctor.findings.edits import CastBefore, HoistCompile

# Uses of an array for which its type makes no difference, or which cast it themselves.
_KERAS_CALLS = frozenset({"fit", "evaluate", "predict", "len"})
_NEUTRAL = frozenset({"shape", "ndim", "size"})
# Keras has the rate as its first parameter in every optimizer.
_RATE = "learning_rate"


@applied.register
def cast_before(edit: CastBefore, draft: Draft) -> Draft:
    """Cast an array once, before the loop whose calls would each cast it."""
    call = find_call(draft, edit.where.line, edit.call)
    given = argument_of(call, edit.argument, edit.position)
    if given is None or not isinstance(given.value, cst.Name):
        raise DeclinedEdit(f"{edit.argument} is not given as a variable")
    name = given.value.value
    loops = loops_around(draft, call)
    if not loops:
        raise DeclinedEdit(f"{edit.call}() is not in a loop here")
    loop = loops[-1]
    _refuse_cast_elsewhere(draft, call, name, edit.dtype)
    if name in bound_in(draft, loop):
        raise DeclinedEdit(f"{name} is assigned in the loop")
    _refuse_other_uses(draft, loop, name)
    return put_before(draft, loop, [f'{name} = {name}.astype("{edit.dtype}")'])


def _refuse_cast_elsewhere(draft: Draft, call: cst.Call, name: str, dtype: str) -> None:
    scope = scope_of(draft, call)
    bound = [
        one
        for one in names_in(draft, scope)
        if one.value == name and is_bound_here(draft, one) and scope_of(draft, one) is scope
    ]
    if not bound:
        raise DeclinedEdit(f"{name} belongs to code outside this function")
    for one in bound:
        statement = draft.parent(draft.parent(one) or one)
        if isinstance(statement, cst.Assign) and dtype in draft.code(statement.value):
            raise AlreadyThere(f"{name} is made {dtype} at line {draft.lines(statement).start}")


def _refuse_other_uses(draft: Draft, loop: cst.CSTNode, name: str) -> None:
    """Decline where something else than Keras would see the array cast."""
    for one in names_in(draft, scope_of(draft, loop)):
        if one.value != name or draft.start(one) < draft.start(loop):
            continue
        parent = draft.parent(one)
        outer = draft.parent(parent) if parent is not None else None
        if isinstance(parent, cst.Attribute) and parent.attr.value in _NEUTRAL:
            continue
        if isinstance(outer, cst.Call) and called_name(outer) in _KERAS_CALLS:
            continue
        raise DeclinedEdit(f"{name} is also used at line {draft.lines(one).start}")


@applied.register
def hoist_compile(edit: HoistCompile, draft: Draft) -> Draft:
    """Compile once before the loop, and set the learning rate in it."""
    call = find_call(draft, edit.where.line, "compile")
    statement = statement_of(draft, call)
    loops = loops_around(draft, call)
    if not loops and not isinstance(scope_of(draft, call), cst.FunctionDef):
        raise DeclinedEdit("compile() is not in a loop here")
    if not is_only(statement, call):
        raise DeclinedEdit("what compile() returns is used, or more is on its line")
    if not loops:
        return _compiled_once(draft, statement, call)
    if draft.parent(statement) is not loops[0].body:
        raise DeclinedEdit("compile() is not called in every round of its loop")
    loop = loops[-1]
    varying = bound_in(draft, loop)
    rate = _rate(call)
    rate_nodes = set(names_in(draft, rate)) if rate is not None else set()
    for name in names_in(draft, call):
        if name.value in varying and name not in rate_nodes:
            raise DeclinedEdit(f"compile() uses {name.value}, which changes in the loop")
    if rate is not None and any(name.value in varying for name in rate_nodes):
        return _with_rate_set(draft, statement, call, rate, loop)
    return _moved_out(draft, statement, loop, draft.code(call), "")


def _compiled_once(draft: Draft, statement: cst.CSTNode, call: cst.Call) -> Draft:
    """In a function that is called again and again: compile unless it was done, set the rate."""
    scope = scope_of(draft, call)
    if not isinstance(call.func, cst.Attribute) or draft.parent(statement) is not scope.body:
        raise DeclinedEdit("compile() is not called in every round of its loop")
    rate = _rate(call)
    rate_nodes = set(names_in(draft, rate)) if rate is not None else set()
    own = bound_in(draft, scope) - {"self"}
    model_nodes = set(names_in(draft, call.func.value))
    for name in names_in(draft, call):
        if name.value in own and name not in rate_nodes | model_nodes:
            raise DeclinedEdit(f"compile() uses {name.value}, which may change from call to call")
    start = draft.start(statement)
    indent = draft.indent_at(start)
    if indent is None:
        raise DeclinedEdit("another statement is on the same line")
    tab = "\t" if "\t" in indent else "    "
    model, code = draft.code(call.func.value), draft.code(call)
    if '"""' in code or "'''" in code:  # moving its lines would change the text in it
        raise DeclinedEdit("compile() has long strings in it")
    code = _indented(code, indent, tab + indent)
    text = f"if not {model}.compiled:{draft.newline}{indent}{tab}{code}"
    if rate is not None and rate_nodes:
        text += f"{draft.newline}{indent}{_rate_set(draft, model, rate)}"
    return draft.spliced(Splice(start, draft.end(statement), text))


def _indented(code: str, before: str, after: str) -> str:
    """The code of a statement with another indentation of the lines after its first."""
    return re.sub(rf"(?<=[\r\n]){before}", after, code)


def _rate_set(draft: Draft, model: str, rate: cst.Arg) -> str:
    """The statement that sets the learning rate alone."""
    value = draft.code(rate.value)
    if re.search(r"\b[A-Z]\w*\(", value):
        raise DeclinedEdit("the learning rate is a schedule made again in each round")
    return f"{model}.optimizer.{_RATE} = {value}"


def _rate(call: cst.Call) -> cst.Arg | None:
    """The learning rate that an optimizer made in the call is given."""
    optimizer = argument_of(call, "optimizer", 0)
    if optimizer is None or not isinstance(optimizer.value, cst.Call):
        return None
    return argument_of(optimizer.value, _RATE, 0)


def _with_rate_set(
    draft: Draft, statement: cst.CSTNode, call: cst.Call, rate: cst.Arg, loop: cst.CSTNode
) -> Draft:
    optimizer = draft.parent(rate)
    if not isinstance(optimizer, cst.Call) or not isinstance(call.func, cst.Attribute):
        raise DeclinedEdit("compile() is called in an unusual way")
    if rate.keyword is None and len(positional(optimizer)) > 1:
        raise DeclinedEdit("the optimizer's other arguments are given by position")
    instead = _rate_set(draft, draft.code(call.func.value), rate)
    begin, end = draft.start(rate), draft.end(rate)
    if isinstance(rate.comma, cst.Comma):
        following = optimizer.args[list(optimizer.args).index(rate) + 1 :]
        end = draft.start(following[0]) if following else draft.end(rate.comma)
    elif len(optimizer.args) > 1:
        begin = draft.end(optimizer.args[-2])
    code = draft.text[draft.start(call) : begin] + draft.text[end : draft.end(call)]
    return _moved_out(draft, statement, loop, code, instead)


def _moved_out(
    draft: Draft, statement: cst.CSTNode, loop: cst.CSTNode, code: str, instead: str
) -> Draft:
    """A statement's code before the loop, and something else in its place."""
    if '"""' in code or "'''" in code or "#" in code:
        raise DeclinedEdit("compile() has comments or long strings in it")
    start, outside = draft.start(statement), draft.indent_at(draft.start(loop))
    inside = draft.indent_at(start)
    if inside is None or outside is None or not inside.startswith(outside):
        raise DeclinedEdit("another statement is on the same line")
    code = _indented(code, inside, outside)
    top = draft.start(loop) - len(outside)
    moved = Splice(top, top, outside + code + draft.newline)
    end = draft.end(statement)
    if instead:
        return draft.spliced(moved, Splice(start, end, instead))
    rest = draft.line_end(end)
    if draft.text[end:rest].strip():  # a comment after it stays
        return draft.spliced(moved, Splice(start, end, ""))
    return draft.spliced(moved, Splice(start - len(inside), draft.after_newline(rest), ""))
