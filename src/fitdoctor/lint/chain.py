"""A tf.data pipeline in the text: the calls before a call, also through variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module

_MOST_STEPS = 60


def stages_before(module: Module, call: ast.Call) -> Iterator[tuple[str, ast.Call]]:
    """The methods called before this one in its chain, the nearest first."""
    node: ast.expr | None = call.func
    scope = module.scope_of(call)
    at: ast.AST = call
    for _ in range(_MOST_STEPS):
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node
            at = node
            node = node.func
        elif isinstance(node, ast.Name):
            value = module.assigned(node.id, at, scope)
            if value is None:
                return
            at, node = value, value
        else:
            return


def nearest(module: Module, call: ast.Call, *methods: str) -> str:
    """The nearest of these methods that is called before this one in its chain, or nothing."""
    found = (method for method, _ in stages_before(module, call) if method in methods)
    return next(found, "")


def is_random(module: Module, function: ast.expr) -> bool:
    """Whether a mapped function draws random numbers, as far as its text shows."""
    body: ast.AST | None = function
    if isinstance(function, ast.Name):
        body = module.functions().get(function.id) or module.assigned(
            function.id, function, module.tree
        )
    if not isinstance(body, Function | ast.Lambda | ast.Call):
        return False
    names = [module.dotted(n.func) for n in ast.walk(body) if isinstance(n, ast.Call)]
    return any(
        ".random." in name or ".random_" in name or name.split(".")[-1].startswith("Random")
        for name in names
    )
