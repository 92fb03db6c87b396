"""A hand-written step as a TensorFlow graph, for a trial: its time, and whether it is the same."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.models.traced_numbers import numbers_stand_in

# Steps that are compared bit by bit, and the time they may take op by op.
STEPS = 20
SECONDS = 1.5


# What reading the number of a symbolic tensor gives.
_STAND_INS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda tensor: tensor,
    "__float__": lambda tensor: 0.0,
    "__int__": lambda tensor: 0,
}


class GraphTrial:
    """The function as a graph."""

    def __init__(self, tensorflow: Any, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled = tensorflow.function(function, reduce_retracing=True)
        self.numbers_read = 0  # that a cure has to move out of it

    def __call__(self, *arguments: Any) -> Any:
        return self._tracing(self._compiled, *arguments)

    def same_as_eager(self, arguments: tuple[Any, ...]) -> bool:
        """Whether some steps leave the very same weights; these are then as they were.

        A graph's arithmetic may be rewritten, and random numbers are drawn from other states.
        """
        traced = self._tracing(self._compiled.get_concrete_function, *arguments)
        variables = list(traced.graph.variables)
        kept = [variable.numpy() for variable in variables]
        try:
            steps = self._eager_steps(arguments)
            eager = [variable.numpy().tobytes() for variable in variables]
            _put_back(variables, kept)
            for _ in range(steps):
                self(*arguments)
            return eager == [variable.numpy().tobytes() for variable in variables]
        finally:
            _put_back(variables, kept)

    def _eager_steps(self, arguments: tuple[Any, ...]) -> int:
        begin = time.perf_counter()
        for step in range(1, STEPS + 1):
            self._function(*arguments)
            if time.perf_counter() - begin > SECONDS:
                return step
        return STEPS

    def _tracing(self, traced: Callable[..., Any], *arguments: Any) -> Any:
        symbolic = sys.modules["tensorflow.python.framework.ops"].SymbolicTensor
        with numbers_stand_in(symbolic, _STAND_INS, self._read):
            return traced(*arguments)

    def _read(self) -> None:
        self.numbers_read += 1


def _put_back(variables: list[Any], values: list[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
