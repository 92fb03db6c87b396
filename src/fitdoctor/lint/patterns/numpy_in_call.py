"""NumPy on the tensors of a layer's `call`: it fails when traced, or runs on the host."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module, given
from fitdoctor.lint.pattern import Match, pattern

_BASES = ("Layer", "Model", "Functional", "Sequential")
# These read a shape or a type and leave the values where they are.
_HARMLESS = frozenset({"shape", "ndim", "size", "dtype", "prod"})


@pattern(
    code="MO004",
    name="host-op-in-model",
    evidence="it fails when traced; as a numpy_function the step was 1.5 to 4 times slower",
    measured_by="002-3-numpy",
    example="class Wave(keras.layers.Layer):\n    def call(self, x):\n        return np.sin(x)",
)
def find(module: Module) -> Iterator[Match]:
    """`np.` on an input of `call`, or `.numpy()` in it."""
    for node in module.nodes(ast.ClassDef):
        if any(module.dotted(base).split(".")[-1] in _BASES for base in node.bases):
            for item in node.body:
                if isinstance(item, Function) and item.name == "call":
                    yield from _in_call(module, item)


def _in_call(module: Module, function: Function) -> Iterator[Match]:
    inputs = {a.arg for a in function.args.args[1:]} - {"training", "mask"}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = module.dotted(node.func)
        on_input = any(_uses_value(value, inputs) for value in given(node))
        if name.startswith("numpy.") and node.func.attr not in _HARMLESS and on_input:
            yield node, f"{name} takes the tensor to the host in every step; use keras.ops"
        elif node.func.attr == "numpy" and not node.args and _uses_value(node.func.value, inputs):
            yield node, ".numpy() takes the tensor to the host in every step; use keras.ops"


def _uses_value(node: ast.AST, inputs: set[str]) -> bool:
    """Whether an input itself is used, not only its shape."""
    if isinstance(node, ast.Attribute) and node.attr in _HARMLESS:
        return False
    if isinstance(node, ast.Name):
        return node.id in inputs
    children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
    return any(_uses_value(child, inputs) for child in children)
