"""The step of a fit, or of a `train_on_batch`, for experiments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fitdoctor.inside.lab.trial_step import Change, TrialStep
from fitdoctor.inside.seams.backends.base import Backend, Stepper
from fitdoctor.inside.seams.models.contexts import Context as ModelChange

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call


class FitStep(TrialStep):
    """Keras's own training step on the frozen batch."""

    def __init__(
        self, backend: Backend, call: Call, batch: Any, result: Any, *, is_eager: bool
    ) -> None:
        """`result` is what the last step of a running fit gave."""
        self._backend = backend
        self._call = call
        self._batch = batch
        self._result = result
        self.model = call.model
        self.executions = call.executions
        self.is_eager = is_eager
        self.has_jit = getattr(call.model, "jit_compile", None) is True

    @property
    def rows(self) -> int | None:
        return self._backend.rows(self._batch)

    @property
    def inputs(self) -> Any:
        x, _, _ = sys.modules["keras"].utils.unpack_x_y_sample_weight(self._batch)
        return (x,)

    @property
    def values(self) -> dict[int, Any]:
        """On JAX the state of a running fit is in its last result."""
        if self._backend.name != "jax" or not isinstance(self._result, tuple):
            return {}
        model, state = self.model, self._result[1]
        groups = [model.trainable_variables, model.non_trainable_variables]
        if len(state) > 2 and self.optimizer is not None:
            groups.append(self.optimizer.variables)
        return {
            id(variable): value
            for variables, values in zip(groups, state, strict=False)
            for variable, value in zip(variables, values, strict=False)
        }

    def as_is(self) -> Stepper:
        model = self.model
        function = self._call.step_function or model.train_function
        return self._stepper(function or self._backend.step_function(model))

    def on(self, change: Change) -> Stepper:
        return self._on(change, self._single_step())

    def on_each(self, first: Change, then: Change) -> Stepper:
        function = self._single_step()
        self._on(first, function).step()
        return self._on(then, function)

    def _single_step(self) -> Callable[..., Any]:
        return self._backend.step_function(self.model, steps_per_execution=1)

    def _on(self, change: Change, function: Callable[..., Any]) -> Stepper:
        return self._backend.stepper(self._call, function, change(self._batch), self._result)

    def under(self, change: ModelChange) -> Stepper:
        return self._backend.stepper_under(self._call, change, self._batch, self._result)

    def with_jit(self, on: bool) -> Stepper:
        return self._stepper(self._backend.step_function(self.model, jit_compile=on))

    def _stepper(self, function: Callable[..., Any]) -> Stepper:
        return self._backend.stepper(self._call, function, self._batch, self._result)
