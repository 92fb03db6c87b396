"""The step of a hand-written loop, for experiments: its function, or a stand-in for its body."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.trial_step import Change, TrialStep
from fitdoctor.inside.ledger.loop_watch import FunctionCall
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, Stepper
from fitdoctor.inside.seams.models.contexts import Context as ModelChange
from fitdoctor.inside.seams.models.loop_functions import (
    Arguments,
    JaxFunction,
    LoopFunction,
    ReferenceStep,
    TensorFlowFunction,
)
from fitdoctor.inside.seams.models.observed import ModelCall, main_model
from fitdoctor.inside.seams.not_available import NotAvailable

# Arrays in one list, most of them shaped like variables, are the state of a model.
MANY_ARRAYS = 3
MOST_OF_THEM = 0.8


class LoopStep(TrialStep):
    """Calls the loop's function with the arguments it had last."""

    def __init__(
        self,
        backend: Backend,
        function: LoopFunction,
        arguments: Arguments,
        *,
        optimizer: Any = None,
    ) -> None:
        """Find the model that the function runs.

        Args:
            backend: of the loop.
            function: its step.
            arguments: of the last call.
            optimizer: what was seen to update the weights.

        Raises:
            NotAvailable: no Keras model is called.
        """
        self._backend = backend
        self._function = function
        self._arguments = arguments
        self._optimizer = optimizer
        self.is_eager = not function.is_compiled and backend.name != "torch"
        self.has_jit = function.has_jit
        self.stands_in = isinstance(function, ReferenceStep)
        self.calls = function.models(arguments)
        seen = main_model(self.calls)
        if seen is None:
            raise NotAvailable("the loop's step calls no Keras model")
        self.model = seen.model
        self._seen = seen
        self._state = _state_in(arguments, _shapes_of_variables(self.calls, optimizer))

    @property
    def rows(self) -> int | None:
        shapes = [shape for shape in self._seen.input_shapes if shape]
        return shapes[0][0] or None if shapes else None

    @property
    def inputs(self) -> Any:
        """The arrays that the model was called with, or arrays of their shapes."""
        given = [leaf for leaf in batches.leaves(self._arguments) if hasattr(leaf, "shape")]
        return batches.map_leaves(lambda leaf: _concrete(leaf, given), self._seen.args)

    @property
    def optimizer(self) -> Any:
        own = getattr(self.model, "optimizer", None)
        return own if self._optimizer is None else self._optimizer

    def as_is(self) -> Stepper:
        return self._stepper(lambda: self._function.call(self._arguments))

    def with_arguments(self, change: Change) -> Stepper:
        """Its own function, with some arguments changed that are no batch."""
        changed: Arguments = batches.map_leaves(change, self._arguments)
        return self._stepper(lambda: self._function.call(changed))

    def on(self, change: Change) -> Stepper:
        return self._on(change, self._function.made_again())

    def on_each(self, first: Change, then: Change) -> Stepper:
        made = self._function.made_again()
        self._on(first, made).step()
        return self._on(then, made)

    def _on(self, change: Change, made: Callable[..., Any]) -> Stepper:
        changed = 0

        def on_data(leaf: Any) -> Any:
            nonlocal changed
            if not self._is_data(leaf):
                return leaf
            changed += 1
            return change(leaf)

        args, kwargs = batches.map_leaves(on_data, self._arguments)
        if not changed:
            raise NotAvailable("the batch was not found among the arguments of the loop's step")
        return self._stepper(lambda: made(*args, **kwargs))

    def under(self, change: ModelChange) -> Stepper:
        args, kwargs = self._arguments
        made = self._function.under(change)
        return self._stepper(lambda: made(*args, **kwargs))

    def with_jit(self, on: bool) -> Stepper:
        args, kwargs = self._arguments
        made = self._function.made_again(jit=on)
        return self._stepper(lambda: made(*args, **kwargs))

    def _is_data(self, leaf: Any) -> bool:
        shape = getattr(leaf, "shape", None)
        if shape is None or len(shape) == 0 or id(leaf) in self._state:
            return False
        return int(shape[0] or 0) == self.rows

    def _stepper(self, run: Callable[[], Any]) -> Stepper:
        return _FunctionStepper(self._backend, run)


class _FunctionStepper:
    def __init__(self, backend: Backend, run: Callable[[], Any]) -> None:
        self._backend = backend
        self._run = run
        self.logs: Any = None

    def step(self) -> None:
        self.logs = self._run()

    def synchronize(self) -> None:
        # Reading one number waits for the whole step that made it.
        leaves = [leaf for leaf in batches.leaves(self.logs) if hasattr(leaf, "shape")]
        self._backend.wait_for(min(leaves, key=_size, default=None))


def _size(leaf: Any) -> int:
    size = 1
    for n in leaf.shape:
        size *= int(n or 1)
    return size


def _concrete(leaf: Any, given: list[Any]) -> Any:
    """A real array for one that a trace only knows by its shape."""
    if not hasattr(leaf, "shape") or not _is_symbolic(leaf):
        return leaf
    keras = sys.modules["keras"]
    shape = tuple(int(n or 1) for n in leaf.shape)
    dtype = keras.backend.standardize_dtype(leaf.dtype)
    for one in given:
        is_alike = tuple(one.shape) == shape and dtype == _dtype(keras, one)
        if is_alike and not _is_symbolic(one):
            return keras.ops.convert_to_tensor(one)
    return keras.ops.ones(shape, dtype=dtype)


def _dtype(keras: Any, leaf: Any) -> str | None:
    try:
        return str(keras.backend.standardize_dtype(leaf.dtype))
    except (ValueError, AttributeError):
        return None


def _is_symbolic(leaf: Any) -> bool:
    """Whether a tensor belongs to a trace, and holds no values."""
    kinds = {one.__name__ for one in type(leaf).__mro__}
    return bool(kinds & {"SymbolicTensor", "Tracer", "KerasTensor"})


def compiled_function(backend: Backend, call: FunctionCall) -> LoopFunction:
    """The compiled function that a loop called.

    Raises:
        NotAvailable: it cannot be made again.
    """
    if backend.name == "tensorflow" and hasattr(call.function, "python_function"):
        return TensorFlowFunction(call.function)
    if backend.name == "jax":
        options = getattr(call.function, "options", {})
        return JaxFunction(getattr(call.function, "jitted", call.function), options)
    raise NotAvailable("the loop's compiled function cannot be made again")


def _state_in(value: Any, shapes: set[tuple[int, ...]]) -> frozenset[int]:
    """Ids of the arrays that a JAX loop hands from step to step: they look like the variables."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if not isinstance(value, tuple | list):
        return frozenset()
    direct = [one for one in value if hasattr(one, "shape")]
    alike = [one for one in direct if tuple(one.shape) in shapes]
    if len(alike) >= MANY_ARRAYS and len(alike) >= MOST_OF_THEM * len(direct):
        return frozenset(id(one) for one in direct)
    return frozenset().union(*(_state_in(one, shapes) for one in value))


def _shapes_of_variables(calls: list[ModelCall], optimizer: Any) -> set[tuple[int, ...]]:
    models = {id(one.model): one.model for one in calls}.values()
    owners = [*models, *([] if optimizer is None else [optimizer])]
    variables = [v for one in owners for v in getattr(one, "variables", ())]
    return {tuple(variable.shape) for variable in variables}
