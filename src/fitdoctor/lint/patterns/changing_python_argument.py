"""A Python number that changes, passed to a tf.function: it is traced again each time (163 times
slower, measured).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module
from fitdoctor.lint.pattern import Match

_TF_FUNCTION = "tensorflow.function"


class ChangingPythonArgument:
    """The loop's counter, or arithmetic with it, as an argument of a traced function."""

    code = "CO001"
    name = "retracing"
    evidence = "traced again in every round: 60 to 160 times slower"
    measured_by = "python-numbers"
    example = "for step in range(1000):\n    train_step(batch, step)  # a tf.function"

    def find(self, module: Module) -> Iterator[Match]:
        """Calls of traced functions inside a loop."""
        traced = {name for name, f in module.functions().items() if _is_traced(module, f)}
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            called = _called(node.func)
            loop = module.loop_around(node) if called in traced else None
            if not isinstance(loop, ast.For):
                continue
            numbers = _changing_numbers(loop)
            for value in (*node.args, *(k.value for k in node.keywords)):
                if isinstance(value, ast.Name) and value.id in numbers:
                    yield (
                        value,
                        f"{value.id} is another Python number in every round, so that "
                        f"{called} is traced again each time; pass tf.constant({value.id})",
                    )


def _called(function: ast.expr) -> str:
    """`train_step` of `train_step(…)` and of `self.train_step(…)`."""
    if isinstance(function, ast.Name):
        return function.id
    own = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.attr if own and function.value.id == "self" else ""  # type: ignore[attr-defined]


def _is_traced(module: Module, function: Function) -> bool:
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.dotted(target) == _TF_FUNCTION:
            given = decorator.keywords if isinstance(decorator, ast.Call) else []
            return not any(k.arg == "input_signature" for k in given)
    return False


def _changing_numbers(loop: ast.For) -> set[str]:
    """The counter of `range` or `enumerate`, and names made of it by arithmetic alone."""
    numbers = _counters(loop)
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and _is_arithmetic(node.value, numbers):
            numbers |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return numbers


def _counters(loop: ast.For) -> set[str]:
    source = loop.iter
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name):
        return set()
    if source.func.id == "range" and isinstance(loop.target, ast.Name):
        return {loop.target.id}
    if source.func.id == "enumerate" and isinstance(loop.target, ast.Tuple):
        first = loop.target.elts[0]
        return {first.id} if isinstance(first, ast.Name) else set()
    return set()


def _is_arithmetic(node: ast.expr, numbers: set[str]) -> bool:
    """Only operators, numbers, names and min, max, float, int; a tensor's maker is none of them."""
    uses = False
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            known = isinstance(part.func, ast.Name) and part.func.id in (
                "min",
                "max",
                "float",
                "int",
            )
            if not known:
                return False
        elif isinstance(part, ast.Attribute | ast.Subscript):
            return False
        uses |= isinstance(part, ast.Name) and part.id in numbers
    return uses


PATTERN = ChangingPythonArgument()
