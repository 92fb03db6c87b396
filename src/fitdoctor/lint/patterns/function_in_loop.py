"""A `tf.function` that is created in every round: it is traced again each time (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Function, Module
from fitdoctor.lint.pattern import Match

_TF_FUNCTION = "tensorflow.function"


class FunctionInLoop:
    """One that needs nothing of the loop could be made before it."""

    code = "CO001"
    name = "retracing"
    evidence = "traced again in every round: 70 to 190 times slower"
    measured_by = "function-in-loop"
    example = "for epoch in range(10):\n    step = tf.function(train_step)"

    def find(self, module: Module) -> Iterator[Match]:
        """`tf.function(f)` and `@tf.function` in a loop that does not make what they use."""
        for node in ast.walk(module.tree):
            made = _made_of(module, node)
            loop = module.loop_around(node) if made is not None else None
            if made is None or loop is None or _uses(made) & _stored(loop):
                continue
            if isinstance(node, ast.expr | ast.stmt):
                yield (
                    node,
                    "a tf.function that is made in every round is traced in every round; "
                    "make it once, before the loop",
                )


def _made_of(module: Module, node: ast.AST) -> ast.AST | None:
    """What a traced function is made of, where the node makes one."""
    if isinstance(node, ast.Call) and module.dotted(node.func) == _TF_FUNCTION and node.args:
        return node.args[0]
    if isinstance(node, Function):
        targets = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
        if any(module.dotted(target) == _TF_FUNCTION for target in targets):
            return node
    return None


def _uses(node: ast.AST) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    }


def _stored(loop: ast.For | ast.While) -> set[str]:
    """Names that the loop itself makes; those inside its functions are their own."""
    inner = {
        part
        for function in ast.walk(loop)
        if isinstance(function, Function | ast.Lambda)
        for part in ast.walk(function)
        if part is not function
    }
    names = {
        part.id
        for part in ast.walk(loop)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part not in inner
    }
    defined = {n.name for n in ast.walk(loop) if isinstance(n, Function) and n not in inner}
    return names | defined


PATTERN = FunctionInLoop()
