"""JAX: the state is an argument of the step, so probes run on a copy of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, Stepper
from fitdoctor.inside.seams.backends.model_state import state_variables
from fitdoctor.inside.seams.backends.randomness import snapshot_python
from fitdoctor.inside.seams.inputs.second_reader import EndlessLoader
from fitdoctor.inside.seams.models.contexts import Context, step_under
from fitdoctor.inside.seams.models.traced_trials import JitTrial

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call

# The parts of a JAX step's state, in the order of Keras's own tuple.
STATE_PARTS = (
    "trainable_variables",
    "non_trainable_variables",
    "optimizer_variables",
    "metrics_variables",
)


class JaxBackend(Backend):
    """Keras on JAX."""

    name = "jax"

    def __init__(self) -> None:
        self.jax = sys.modules["jax"]

    def snapshot(self, model: Any) -> Callable[[], None]:
        """Copy what variables hold now; during a fit most hold nothing (Keras purges them)."""
        values = [
            (variable, variable._value, self._copy(variable._value))
            for variable in state_variables(model)
        ]
        synced = getattr(model, "_jax_state_synced", None)
        state = getattr(model, "_jax_state", None)
        restore_python = snapshot_python()

        def restore() -> None:
            for variable, original, copied in values:
                # A probe may have donated the buffer; the copy is bit for bit the same.
                deleted = original is not None and original.is_deleted()
                variable._value = copied if deleted else original
            if synced is not None:
                model._jax_state_synced = synced
            if hasattr(model, "_jax_state"):
                model._jax_state = state
            restore_python()

        return restore

    def _copy(self, value: Any) -> Any:
        return None if value is None else self.jax.numpy.copy(value)

    def stepper(
        self,
        call: Call,
        function: Callable[..., Any],
        batch: Any,
        result: Any,
        loader: Any = None,
    ) -> Stepper:
        """The jitted step, fed with its own last state and the same batch."""
        if isinstance(result, tuple) and len(result) == 2:
            state = result[1]
        else:
            state = call.model._get_jax_state(**dict.fromkeys(STATE_PARTS, True))
        # The step donates its state's buffers: the user's must not be among them.
        source = _Endless(batch) if loader is None else loader
        return _StateStepper(self.jax, function, self.jax.tree.map(self._copy, state), source)

    def live_stepper(self, call: Call, function: Callable[..., Any], result: Any) -> Stepper:
        loader = EndlessLoader(lambda: self.fresh_loader(call))
        return self.stepper(call, function, None, result, loader)

    def stepper_under(self, call: Call, context: Context, batch: Any, result: Any) -> Stepper:
        """Steps of the model as it is inside a context, whose state may have other parts."""
        model = call.model
        known: dict[int, Any] = {}
        if isinstance(result, tuple) and len(result) == 2:
            for variables, values in zip(_state_variables(model), result[1], strict=True):
                known.update((id(v), a) for v, a in zip(variables, values, strict=True))
        function = step_under(model, _own_step(model, context))
        with context():
            state = tuple(
                [known.get(id(variable), variable._value) for variable in variables]
                for variables in _state_variables(model)
            )
        state = self.jax.tree.map(self._copy, state)
        return _StateStepper(self.jax, function, state, _Endless(batch))

    def hold_state(self, model: Any, result: Any) -> None:
        """During a fit the values are in the step's state, and the variables are empty.

        They get copies: whatever runs on them may donate their buffers.
        """
        if not isinstance(result, tuple) or len(result) != 2:
            return
        for variables, values in zip(_state_variables(model), result[1], strict=True):
            for variable, value in zip(variables, values, strict=True):
                if variable._value is None:
                    variable._value = self._copy(value)

    def widen(self, batch: Any, times: int) -> Any:
        numpy = self.jax.numpy
        return batches.map_leaves(lambda leaf: numpy.concatenate([leaf] * times), batch)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return JitTrial(self.jax, function)

    def wait_for(self, value: Any) -> None:
        """Dispatch is asynchronous: wait for the arrays themselves."""
        self.jax.block_until_ready(value)


def _state_variables(model: Any) -> tuple[list[Any], ...]:
    """The variables behind a step's state, in the order of Keras's own tuple."""
    return (
        list(model.trainable_variables),
        list(model.non_trainable_variables),
        list(model.optimizer.variables),
        list(model.metrics_variables),
    )


class _StateStepper:
    def __init__(self, jax: Any, function: Callable[..., Any], state: Any, source: Any) -> None:
        self._jax = jax
        self._function = function
        self.state = state
        self.logs: Any = None
        self._source = source  # endless, since one execution may take several batches

    def step(self) -> None:
        self.logs, self.state = self._function(self.state, self._source)

    def synchronize(self) -> None:
        self._jax.block_until_ready(self.state)


class _Endless:
    __slots__ = ("_batch",)

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __iter__(self) -> _Endless:
        return self

    def __next__(self) -> Any:
        return self._batch


def _own_step(model: Any, context: Context) -> Context:
    """The context with a step function that JAX has never seen.

    Keras compiles the bound method `model.train_step`, and JAX keeps traces by equality: under
    another dtype policy it would run the old trace.
    """
    step = model.train_step

    @contextmanager
    def changed() -> Iterator[None]:
        with context():
            own = vars(model).get("train_step")
            object.__setattr__(model, "train_step", lambda state, data: step(state, data))
            try:
                yield
            finally:
                object.__delattr__(model, "train_step")
                if own is not None:
                    object.__setattr__(model, "train_step", own)

    return changed


@contextmanager
def result_handling(model: Any, stepper: Stepper) -> Iterator[Callable[[], None]]:
    """A function that does, after a step, what Keras does with its result.

    On JAX the loop hands the whole state to the model after every step, where Keras looks through
    it for layers and variables to track: 0.15 ms for a small model, more than its step. The other
    backends keep their state in the variables.
    """
    state = getattr(stepper, "state", None)
    if state is None or not hasattr(model, "_jax_state"):
        yield lambda: None
        return
    kept = model._jax_state

    def hand_over() -> None:
        model._jax_state = dict(zip(STATE_PARTS, stepper.state, strict=True))  # type: ignore[attr-defined]

    try:
        yield hand_over
    finally:
        model._jax_state = kept
