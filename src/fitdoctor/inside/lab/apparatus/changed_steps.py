"""The same training step on a changed copy of the model: what a change would really give."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fitdoctor.inside.lab.apparatus.frozen_steps import Steps, time_beside, time_steps
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.models.clones import Change, cloned
from fitdoctor.inside.seams.models.contexts import Context

SECONDS = 1.2


class Copies:
    """Copies of the user's model, each changed in one thing and timed beside an unchanged one.

    A copy has no metrics and steps one by one, so that its step is not quite the user's: the
    unchanged copy is the measure for all others.
    """

    def __init__(
        self, backend: Backend, model: Any, compiled_with: dict[str, Any], batch: Any
    ) -> None:
        """Nothing is copied yet."""
        self._backend = backend
        self._model = model
        self._compiled_with = compiled_with
        self._batch = batch
        self._base: Steps | None = None

    def as_is(self) -> Data:
        """The step of an unchanged copy, which is kept to compare with."""
        self._base, facts = self._copy(Change())
        return {**time_steps(self._base.stepper, 1, SECONDS).to_record(), **facts}

    def changed(self, change: Change) -> Data:
        """The step of a changed copy."""
        if self._base is None:
            raise NotAvailable("an unchanged copy could not be made")
        steps, facts = self._copy(change)
        return {**time_beside(self._base, steps, SECONDS), **facts}

    def _copy(self, change: Change) -> tuple[Steps, Data]:
        copy = cloned(self._model, self._compiled_with, change)
        x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(self._batch)
        begin = time.perf_counter_ns()
        copy.train_on_batch(x, y, sample_weight=weight)  # builds, traces and compiles
        first = time.perf_counter_ns() - begin
        call: Any = SimpleNamespace(model=copy, epoch_iterator=None, executions=1)
        stepper = self._backend.stepper(call, copy.train_function, self._batch, None)
        return Steps(stepper), {"first_ns": first, "parameters": int(copy.count_params())}


def step_under(
    backend: Backend, call: Call, batch: Any, result: Any, make: Callable[[Any], Context]
) -> Data:
    """The user's own model on the frozen batch, with something changed for the while."""
    function = call.step_function or backend.step_function(call.model)
    base = Steps(backend.stepper(call, function, batch, result), call.executions)
    begin = time.perf_counter_ns()
    stepper = backend.stepper_under(call, make(call.model), batch, result)
    stepper.step()
    stepper.synchronize()
    first = time.perf_counter_ns() - begin
    return {**time_beside(base, Steps(stepper), SECONDS), "first_ns": first}
