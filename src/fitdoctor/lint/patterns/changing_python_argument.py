"""A Python number that changes, passed to a tf.function: it is traced again each time (163 times
slower, measured).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module, given, keyword, tracing
from fitdoctor.lint.pattern import Match, pattern


@pattern(
    code="CO001",
    name="retracing",
    evidence="traced again in every round: 60 to 160 times slower",
    measured_by="python-numbers",
    example="for step in range(1000):\n    train_step(batch, step)  # a tf.function",
)
def find(module: Module) -> Iterator[Match]:
    """The loop's counter, or arithmetic with it, as an argument of a traced function."""
    traced = {name for name, f in module.functions().items() if _is_traced(module, f)}
    for node in module.nodes(ast.Call):
        called = module.written(node.func).removeprefix("self.")
        loop = module.loop_around(node) if called in traced else None
        if not isinstance(loop, ast.For):
            continue
        numbers = _changing_numbers(loop)
        for value in given(node):
            if isinstance(value, ast.Name) and value.id in numbers:
                yield (
                    value,
                    f"{value.id} is another Python number in every round, so that {called} is "
                    f"traced again each time; pass tf.constant({value.id})",
                )


def _is_traced(module: Module, function: Function) -> bool:
    by = tracing(module, function)
    has_signature = isinstance(by, ast.Call) and keyword(by, "input_signature") is not None
    return by is not None and not has_signature


def _changing_numbers(loop: ast.For) -> set[str]:
    """The counter of `range` or `enumerate`, and names made of it by arithmetic alone."""
    numbers = _counters(loop)
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and _is_arithmetic(node.value, numbers):
            numbers |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return numbers


def _counters(loop: ast.For) -> set[str]:
    by = loop.iter.func if isinstance(loop.iter, ast.Call) else None
    target: ast.expr | None = None
    if isinstance(by, ast.Name) and by.id == "range":
        target = loop.target
    elif isinstance(by, ast.Name) and by.id == "enumerate" and isinstance(loop.target, ast.Tuple):
        target = loop.target.elts[0]
    return {target.id} if isinstance(target, ast.Name) else set()


def _is_arithmetic(node: ast.expr, numbers: set[str]) -> bool:
    """Only operators, numbers, names and min, max, float, int; a tensor's maker is none of them."""
    parts = list(ast.walk(node))
    called = [part.func for part in parts if isinstance(part, ast.Call)]
    known = {"min", "max", "float", "int"}
    if not all(isinstance(one, ast.Name) and one.id in known for one in called):
        return False
    if any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts):
        return False
    return any(isinstance(part, ast.Name) and part.id in numbers for part in parts)
