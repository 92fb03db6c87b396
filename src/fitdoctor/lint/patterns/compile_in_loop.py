"""`compile` of one model again and again: 0.43 s each, and the optimizer forgets (measured)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fitdoctor.lint.module import Module
from fitdoctor.lint.pattern import Match

_KERAS_KEYWORDS = frozenset({"optimizer", "loss", "metrics", "jit_compile", "steps_per_execution"})


class CompileInLoop:
    """A model that is made outside the loop is compiled inside it."""

    code = "CO001"
    name = "retracing"

    def find(self, module: Module) -> Iterator[Match]:
        """`model.compile(...)` in a loop that does not make the model."""
        for call, function in module.calls("compile"):
            loop = module.loop_around(call)
            if loop is None or not _is_keras(call) or not isinstance(function.value, ast.Name):
                continue
            if function.value.id not in _assigned_in(loop):
                yield (
                    call,
                    f"{function.value.id} is compiled in every round, which traces its step again "
                    "and resets the optimizer; compile once, and set "
                    f"{function.value.id}.optimizer.learning_rate",
                )


def _is_keras(call: ast.Call) -> bool:
    return any(k.arg in _KERAS_KEYWORDS for k in call.keywords)


def _assigned_in(loop: ast.For | ast.While) -> set[str]:
    names = {
        n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return names


PATTERN = CompileInLoop()
