"""A `tf.function` that is created in every round: it is traced again each time (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from fitdoctor.lint.module import TF_FUNCTION, Function, Module, tracing
from fitdoctor.lint.pattern import Match, pattern


@pattern(
    code="CO001",
    name="retracing",
    evidence="traced again in every round: 70 to 190 times slower",
    measured_by="function-in-loop",
    example="for epoch in range(10):\n    step = tf.function(train_step)",
)
def find(module: Module) -> Iterator[Match]:
    """One that needs nothing of the loop could be made before it."""
    message = (
        "a tf.function that is made in every round is traced in every round; "
        "make it once, before the loop"
    )
    for node, made in _traced(module):
        loop = module.loop_around(node)
        if loop is not None and not _names(ast.walk(made), ast.Load) & _stored(loop):
            yield node, message


def _traced(module: Module) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """What makes a traced function, and what it is made of."""
    for node in module.nodes(ast.AST):
        if isinstance(node, ast.Call) and module.dotted(node.func) == TF_FUNCTION and node.args:
            yield node, node.args[0]
        elif isinstance(node, Function) and tracing(module, node) is not None:
            yield node, node


def _stored(loop: ast.For | ast.While) -> set[str]:
    """Names that the loop itself makes; those inside its functions are their own."""
    inner = {
        part
        for function in ast.walk(loop)
        if isinstance(function, Function | ast.Lambda)
        for part in ast.walk(function)
        if part is not function
    }
    own = [part for part in ast.walk(loop) if part not in inner]
    return _names(own, ast.Store) | {part.name for part in own if isinstance(part, Function)}


def _names(nodes: Iterable[ast.AST], use: type[ast.expr_context]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, use)}
