"""A step that is compiled: decorated, and without what only plain Python can do.

A compiled function runs its Python once, while it is traced. What it does beside tensors (printing,
appending to a list, counting) would then happen once, and what needs numbers (`.numpy()`) fails.
Numbers that it only returns can be read by its caller just as well: then the function is split.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst
from libcst import matchers as m

from fitdoctor.cures.draft import AlreadyThere, DeclinedEdit, Draft, Splice, deeper
from fitdoctor.cures.edit_engine import applied
from fitdoctor.cures.imports import with_names
from fitdoctor.cures.statements import decorator_above, functions_at, parameter_names
from fitdoctor.findings.edits import Decorate

# Calls that read a tensor's number: methods without arguments, and functions of one.
_READING_METHODS = ("numpy", "item", "tolist")
_READING_FUNCTIONS = ("float", "int", "bool")
# Calls that do something which a caller may see.
_OUTPUT = ("print", "input", "open", "next")
# Methods that change a Python list, set, dict or file in place; of tensors and variables, none is.
_CHANGING = ("append", "extend", "add_scalar", "write", "info", "debug", "warning", "insert")
_MODULES = ("random", "time", "logging")
_MAY_HAVE_EFFECT = m.Global() | m.Nonlocal() | m.AugAssign() | m.AssignTarget() | m.Call()


@applied.register
def decorate(edit: Decorate, draft: Draft) -> Draft:
    """A decorator above a function; its returned numbers are read outside of it."""
    function = _function(draft, edit)
    if function.asynchronous is not None:
        raise DeclinedEdit(f"{edit.function} is a coroutine")
    draft, text = with_names(draft, function, edit.decorator, edit.imports)
    function = _function(draft, edit)
    for decorator in function.decorators:
        code = draft.code(decorator.decorator)
        if code == text or code.startswith(text + "("):
            raise AlreadyThere(f"{edit.function} is decorated with {code[:40]}")
    returned = _returned_numbers(draft, function)
    _refuse_side_effects(draft, function, returned)
    above = decorator_above(draft, function, text)
    return draft.spliced(above, *(_split(draft, function, returned) if returned else ()))


def _function(draft: Draft, edit: Decorate) -> cst.FunctionDef:
    for function in functions_at(draft, edit.where.line):
        if function.name.value == edit.function:
            return function
    raise DeclinedEdit(f"no function {edit.function} begins at line {edit.where.line}")


# -- what only plain Python can do -----------------------------------------------------------


class _Number(NamedTuple):
    """A tensor whose number is read where it is returned: `loss.numpy()`, `float(loss)`."""

    whole: cst.Call
    tensor: cst.BaseExpression
    calls: tuple[cst.CSTNode, ...]  # those around the tensor: two in `float(loss.numpy())`


def _read(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The tensor whose number a call reads."""
    if m.matches(node, m.Call(func=m.Attribute(attr=_one_of(_READING_METHODS)), args=[])):
        return cst.ensure_type(cst.ensure_type(node, cst.Call).func, cst.Attribute).value
    reads = m.Call(func=_one_of(_READING_FUNCTIONS), args=[m.Arg(keyword=None, star="")])
    if m.matches(node, reads):
        return cst.ensure_type(node, cst.Call).args[0].value
    return None


def _one_of(names: tuple[str, ...]) -> m.OneOf[m.Name]:
    return m.OneOf(*(m.Name(name) for name in names))


def _returned_numbers(draft: Draft, function: cst.FunctionDef) -> list[_Number]:
    """The numbers in the function's last statement, if that is its only `return`."""
    returns = [
        one
        for one in m.findall(function.body, m.Return())
        if draft.nearest(one, cst.FunctionDef) is function
    ]
    last = function.body.body[-1] if function.body.body else None
    if len(returns) != 1 or not isinstance(last, cst.SimpleStatementLine):
        return []
    value = cst.ensure_type(returns[0], cst.Return).value
    if last.body[-1] is not returns[0] or value is None:
        return []
    parts = [one.value for one in value.elements] if isinstance(value, cst.Tuple) else [value]
    found: list[_Number] = []
    for part in parts:
        calls: list[cst.CSTNode] = []
        tensor = part
        while (inner := _read(tensor)) is not None:
            calls.append(tensor)
            tensor = inner
        if calls and isinstance(part, cst.Call):
            found.append(_Number(part, tensor, tuple(calls)))
    return found


def _refuse_side_effects(draft: Draft, function: cst.FunctionDef, returned: list[_Number]) -> None:
    outside = {id(call) for number in returned for call in number.calls}
    own = _own_names(function)
    for node in m.findall(function.body, _MAY_HAVE_EFFECT):
        why = None if id(node) in outside else _side_effect(draft, node, own)
        if why is not None:
            line = draft.lines(node).start
            raise DeclinedEdit(
                f"{function.name.value} {why} in line {line}, which a compiled step cannot do; "
                "move that out of it first"
            )


def _own_names(function: cst.FunctionDef) -> set[str]:
    """What the function itself makes: changing that is nobody else's business."""
    targets = m.findall(function.body, m.AssignTarget(target=m.Name()))
    return {
        cst.ensure_type(cst.ensure_type(one, cst.AssignTarget).target, cst.Name).value
        for one in targets
    }


def _side_effect(draft: Draft, node: cst.CSTNode, own: set[str]) -> str | None:
    if isinstance(node, cst.Global | cst.Nonlocal):
        return "changes variables outside of it"
    if isinstance(node, cst.AugAssign | cst.AssignTarget):
        target = node.target
        if isinstance(target, cst.Attribute | cst.Subscript) and _name_of(target) not in own:
            return f"changes {draft.code(target)[:40]}"
    if not isinstance(node, cst.Call):
        return None
    code = draft.code(node)[:40]
    if _read(node) is not None and not _is_of_python(node):
        return f"reads a number ({code})"
    if m.matches(node.func, _one_of(_OUTPUT)):
        return f"calls {draft.code(node.func)}()"
    if m.matches(node.func, m.Attribute(attr=_one_of(_CHANGING))) and _name_of(node) not in own:
        return f"changes something outside of it ({code})"
    if m.matches(node.func, m.Attribute(value=_one_of(_MODULES))):
        return f"calls {draft.code(node.func)}(), which is not part of the arithmetic"
    return None


def _name_of(node: cst.CSTNode) -> str | None:
    """The variable that an expression begins with: `logs` of `logs["loss"].append`."""
    while not isinstance(node, cst.Name):
        if isinstance(node, cst.Call):
            node = node.func
        elif isinstance(node, cst.Attribute | cst.Subscript):
            node = node.value
        else:
            return None
    return node.value


def _is_of_python(call: cst.Call) -> bool:
    """Whether what is converted was no tensor: `float("inf")`, `int(len(x))`, `int(x.shape[0])`."""
    python = m.OneOf(
        m.SimpleString(),
        m.Integer(),
        m.Float(),
        m.Call(func=m.Name("len")),
        m.Subscript(value=m.Attribute(attr=m.Name("shape"))),
    )
    return len(call.args) == 1 and m.matches(call.args[0].value, python)


# -- a compiled part, and a plain one around it ----------------------------------------------


def _split(draft: Draft, function: cst.FunctionDef, returned: list[_Number]) -> list[Splice]:
    """`step` becomes `step_in_graph`, which returns tensors; a new `step` reads their numbers."""
    name = function.name.value
    inner = f"{name}_in_graph"
    if function.decorators:
        raise DeclinedEdit(f"{name} has a decorator, and returns numbers of tensors")
    if re.search(rf"\b{inner}\b", draft.text):
        raise DeclinedEdit(f"the name {inner} is taken")
    indent = draft.indent_at(draft.start(function)) or ""
    method = _is_method(draft, function)
    call = f"{'self.' if method else ''}{inner}({', '.join(_passed_on(function, method))})"
    head = f"{indent}def {name}({draft.module.code_for_node(function.params)}):"
    reading = _reading(draft, function, returned, call)
    lines = ["", head, *(deeper(indent) + line for line in reading)]
    if not method and not indent:
        lines.insert(0, "")
    end = draft.line_end(draft.end(function.body.body[-1]))
    text = "".join(draft.newline + line for line in lines)
    tensors = [draft.instead(number.whole, draft.code(number.tensor)) for number in returned]
    return [draft.instead(function.name, inner), *tensors, Splice(end, end, text)]


def _is_method(draft: Draft, function: cst.FunctionDef) -> bool:
    around = (one for one in draft.ancestors(function) if not isinstance(one, cst.IndentedBlock))
    is_in_class = isinstance(next(around, None), cst.ClassDef)
    if is_in_class and parameter_names(function)[:1] != ["self"]:
        raise DeclinedEdit(f"{function.name.value} is no method of an object")
    return is_in_class


def _passed_on(function: cst.FunctionDef, method: bool) -> list[str]:
    """The parameters as arguments of a call within."""
    params = function.params
    if isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None:
        raise DeclinedEdit(f"{function.name.value} takes any arguments, and returns numbers")
    names = parameter_names(function)
    named = [f"{one.name.value}={one.name.value}" for one in params.kwonly_params]
    return [*names[1 if method else 0 :], *named]


def _reading(
    draft: Draft, function: cst.FunctionDef, returned: list[_Number], call: str
) -> list[str]:
    """The statements that read the numbers of what the compiled part returns."""
    statement = cst.ensure_type(function.body.body[-1], cst.SimpleStatementLine).body[-1]
    value = cst.ensure_type(statement, cst.Return).value
    if not isinstance(value, cst.Tuple):
        return [f"return {_with(draft, returned[0], call)}"]
    numbers = {id(number.whole): number for number in returned}
    names: list[str] = []
    read: list[str] = []
    for place, element in enumerate(value.elements, start=1):
        number = numbers.get(id(element.value))
        tensor = element.value if number is None else number.tensor
        plain = isinstance(tensor, cst.Name) and tensor.value not in (*names, "self")
        name = draft.code(tensor) if plain else f"value_{place}"
        names.append(name)
        read.append(name if number is None else _with(draft, number, name))
    return [f"{', '.join(names)} = {call}", f"return {', '.join(read)}"]


def _with(draft: Draft, number: _Number, name: str) -> str:
    """The call that reads a number, of something else."""
    before = draft.text[draft.start(number.whole) : draft.start(number.tensor)]
    return before + name + draft.text[draft.end(number.tensor) : draft.end(number.whole)]
