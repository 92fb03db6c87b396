"""A list of numbers that are read from the device in every round is read after the loop instead."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.names import is_bound_here, names_in
from fitdoctor.cures.statements import is_only, loops_around, scope_of, statement_of
from fitdoctor.findings.edits import ReadAfterLoop

_Loop = cst.For | cst.While
# What reads a value, and what only hands the same tensor on.
_READS = m.Call(m.Name("float") | m.Name("int"), [m.Arg(keyword=None, star="")])
_METHODS = m.Call(m.Attribute(attr=m.Name("item") | m.Name("numpy")), [])
_HANDED_ON = m.Call(m.Attribute(attr=m.Name("detach") | m.Name("cpu")), [])
_EMPTY = m.List([]) | m.Call(m.Name("list"), [])


@applied.register
def read_after_loop(edit: ReadAfterLoop, draft: Draft) -> Draft:
    """Append the value as it is, and convert the whole list behind the loop."""
    call = _append_at(draft, edit.where.line)
    read = call.args[0].value
    value = _value_of(read)
    if value is None:
        raise DeclinedEdit(f"`{draft.code(read)[:40]}` is not just a read of one variable")
    loop = _loop_of(draft, call)
    _refuse_other_uses_of_list(draft, call, loop)
    _refuse_changing_value(draft, call, value, loop)
    code, start = draft.code(read), draft.start(read)
    name_at = draft.start(value) - start
    later = f"{code[:name_at]}one{code[name_at + len(value.value) :]}"
    name = cst.ensure_type(cst.ensure_type(call.func, cst.Attribute).value, cst.Name).value
    kept = f"{value.value}.detach()" if edit.detach else value.value
    return draft.spliced(
        draft.instead(read, kept),
        _after(draft, loop, f"{name} = [{later} for one in {name}]"),
    )


def _append_at(draft: Draft, recorded_line: int) -> cst.Call:
    line = draft.line_now(recorded_line)
    wanted = m.Call(m.Attribute(m.Name(), m.Name("append")), [m.Arg(keyword=None, star="")])
    found = [one for one in draft.nodes(cst.Call) if line in draft.lines(one)]
    appends = [one for one in found if m.matches(one, wanted)]
    if len(appends) != 1:
        raise DeclinedEdit(f"line {recorded_line} does not append one value to a list")
    (call,) = appends
    if not is_only(statement_of(draft, call), call):
        raise DeclinedEdit("more than append() is on its line")
    if isinstance(call.args[0].value, cst.Name) or m.matches(call.args[0].value, _HANDED_ON):
        raise AlreadyThere(f"line {recorded_line} appends the value without reading it")
    return call


def _value_of(node: cst.BaseExpression) -> cst.Name | None:
    """The variable that is read: `loss` of `float(loss)` and of `loss.detach().item()`."""
    if m.matches(node, _READS):
        inner = cst.ensure_type(node, cst.Call).args[0].value
        return inner if isinstance(inner, cst.Name) else _value_of(inner)
    if m.matches(node, _METHODS):
        return _handed_on(node)
    return None


def _handed_on(node: cst.BaseExpression) -> cst.Name | None:
    while m.matches(node, _METHODS | _HANDED_ON):
        node = cst.ensure_type(cst.ensure_type(node, cst.Call).func, cst.Attribute).value
    return node if isinstance(node, cst.Name) else None


def _loop_of(draft: Draft, call: cst.Call) -> _Loop:
    """The outermost loop that the list is not made in."""
    name = draft.code(cst.ensure_type(call.func, cst.Attribute).value)
    scope = scope_of(draft, call)
    bound = [
        one
        for one in names_in(draft, scope)
        if one.value == name and is_bound_here(draft, one) and scope_of(draft, one) is scope
    ]
    made = draft.nearest(bound[0], cst.Assign) if len(bound) == 1 else None
    if made is None or not m.matches(made.value, _EMPTY):
        raise DeclinedEdit(f"{name} is not made here, once, as an empty list")
    around = set(draft.ancestors(made))
    loops = [one for one in loops_around(draft, call) if one not in around]
    if not loops or draft.start(made) > draft.start(loops[-1]):
        raise DeclinedEdit("the value is not appended in a loop")
    loop = loops[-1]
    if loop.orelse is not None or draft.nearest(loop, cst.Try) is not None:
        raise DeclinedEdit("the loop may end in another way than by its last round")
    return loop


def _refuse_other_uses_of_list(draft: Draft, call: cst.Call, loop: _Loop) -> None:
    """Until the loop has ended, nothing may look at the list: it would see tensors."""
    own = cst.ensure_type(cst.ensure_type(call.func, cst.Attribute).value, cst.Name)
    scope = scope_of(draft, call)
    for one in names_in(draft, scope):
        if one.value != own.value or one is own:
            continue
        if scope_of(draft, one) is not scope:
            raise DeclinedEdit(f"{own.value} is also used in a function of its own")
        if draft.start(one) < draft.end(loop) and not is_bound_here(draft, one):
            raise DeclinedEdit(f"{own.value} is also used at line {draft.lines(one).start}")


def _refuse_changing_value(draft: Draft, call: cst.Call, value: cst.Name, loop: _Loop) -> None:
    """The tensor must be this round's own, and nothing may change it or give it away later."""
    inside = [one for one in names_in(draft, loop) if one.value == value.value and one is not value]
    bound = [one for one in inside if is_bound_here(draft, one)]
    makes = draft.nearest(bound[0], cst.Assign) if len(bound) == 1 else None
    statement = None if makes is None else statement_of(draft, makes)
    block = None if statement is None else draft.parent(statement)
    if statement is None or not any(block is one for one in draft.ancestors(call)):
        raise DeclinedEdit(f"{value.value} is not assigned once in each round")
    for one in inside:
        if one is bound[0]:
            continue
        is_before = draft.start(one) < draft.end(statement)
        is_after = draft.start(one) > draft.start(call)
        if is_before or (is_after and not _is_backward(draft, one)):
            raise DeclinedEdit(f"{value.value} is also used at line {draft.lines(one).start}")


def _is_backward(draft: Draft, name: cst.Name) -> bool:
    return m.matches(draft.parent(name) or name, m.Attribute(attr=m.Name("backward")))


def _after(draft: Draft, loop: _Loop, line: str) -> Splice:
    indent = draft.indent_at(draft.start(loop))
    last: cst.CSTNode = loop
    while isinstance(last, cst.BaseCompoundStatement):
        last = _last_statement(last)
    if indent is None:
        raise DeclinedEdit("another statement is on the same line")
    end = draft.line_end(draft.end(last))
    at = draft.after_newline(end)
    if at == end:  # the file ends here, without a newline
        return Splice(end, end, f"{draft.newline}{indent}{line}")
    return Splice(at, at, f"{indent}{line}{draft.newline}")


def _last_statement(block: cst.BaseCompoundStatement) -> cst.CSTNode:
    if isinstance(block, cst.If | cst.For | cst.While) and block.orelse is not None:
        orelse = block.orelse
        return orelse if isinstance(orelse, cst.If) else _last_of(orelse.body)
    if isinstance(block, cst.Try | cst.TryStar):
        last = block.finalbody or block.orelse or block.handlers[-1]
        return _last_of(last.body)
    return _last_of(block.body)


def _last_of(body: cst.CSTNode) -> cst.CSTNode:
    if not isinstance(body, cst.IndentedBlock) or not body.body:
        raise DeclinedEdit("the loop is on one line")
    return body.body[-1]
