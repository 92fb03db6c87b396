"""A hand-written step under `jax.jit`, for a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.models.traced_numbers import numbers_stand_in

# What reading the number of a traced array gives. Nothing is computed from it in a step.
_STAND_INS: dict[str, Callable[[Any], Any]] = {
    "__float__": lambda tracer: 0.0,
    "__int__": lambda tracer: 0,
    "item": lambda tracer: tracer,
}


class JitTrial:
    """The function under jit."""

    def __init__(self, jax: Any, function: Callable[..., Any]) -> None:
        self._tracer = jax.core.Tracer
        self._compiled = jax.jit(function)
        self.numbers_read = 0  # that a cure has to move out of it

    def __call__(self, *arguments: Any) -> Any:
        with numbers_stand_in(self._tracer, _STAND_INS, self._read):
            return self._compiled(*arguments)

    def _read(self) -> None:
        self.numbers_read += 1
