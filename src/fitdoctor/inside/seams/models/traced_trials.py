"""A hand-written step under `tf.function` or `jax.jit`, for a trial.

`return float(loss)` is what keeps many a hand-written step from being compiled. A trial asks what
the step would take without; so while it is traced, reading a number gives something in its place.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from fitdoctor.inside.patches import Patches

# Steps that are compared bit by bit, and the time they may take op by op.
STEPS = 20
SECONDS = 1.5

StandIns = Mapping[str, Callable[[Any], Any]]
# What reading the number of a traced tensor gives. Nothing is computed from it in a step.
_NUMBERS: StandIns = {"__float__": lambda tensor: 0.0, "__int__": lambda tensor: 0}
_IN_GRAPHS: StandIns = {**_NUMBERS, "numpy": lambda tensor: tensor}
_UNDER_JIT: StandIns = {**_NUMBERS, "item": lambda tracer: tracer}


class JitTrial:
    """The function under jit."""

    def __init__(self, jax: Any, function: Callable[..., Any]) -> None:
        self._tracer = jax.core.Tracer
        self._compiled = jax.jit(function)
        self.numbers_read = 0  # that a cure has to move out of it

    def __call__(self, *arguments: Any) -> Any:
        return _traced(self, self._tracer, _UNDER_JIT, self._compiled, arguments)


class GraphTrial:
    """The function as a graph."""

    def __init__(self, tensorflow: Any, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled = tensorflow.function(function, reduce_retracing=True)
        self.numbers_read = 0  # that a cure has to move out of it

    def __call__(self, *arguments: Any) -> Any:
        return self._tracing(self._compiled, arguments)

    def same_as_eager(self, arguments: tuple[Any, ...]) -> bool:
        """Whether some steps leave the very same weights; these are then as they were.

        A graph's arithmetic may be rewritten, and random numbers are drawn from other states.
        """
        traced = self._tracing(self._compiled.get_concrete_function, arguments)
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

    def _tracing(self, traced: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        symbolic = sys.modules["tensorflow.python.framework.ops"].SymbolicTensor
        return _traced(self, symbolic, _IN_GRAPHS, traced, arguments)


def _traced(
    trial: JitTrial | GraphTrial,
    owner: type[Any],
    stand_ins: StandIns,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> Any:
    """Call a function while methods of the class of traced tensors give stand-ins."""

    def reading(stand_in: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def method(tensor: Any) -> Any:
            trial.numbers_read += 1
            return stand_in(tensor)

        return method

    with Patches() as patches:
        for name, stand_in in stand_ins.items():
            patches.set(owner, name, reading(stand_in))
        return function(*arguments)


def _put_back(variables: list[Any], values: list[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
