"""The training step with one thing of the model changed: on the model itself, or on a copy."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fitdoctor.contract.evidence.model import ChangedCopy
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    BesideFields,
    Steps,
    own_stepper,
    time_alone,
    time_beside,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.models.clones import Change, cloned
from fitdoctor.inside.seams.models.contexts import Context as ModelChange

SECONDS = 1.2


def step_under(context: Context, make: Callable[[Any], ModelChange]) -> BesideFields:
    """The user's own model on the frozen batch, with something changed meanwhile."""
    call = context.fit
    base = Steps(own_stepper(context), call.executions)
    begin = time.perf_counter_ns()
    stepper = context.backend.stepper_under(call, make(call.model), context.batch, context.result)
    stepper.step()
    stepper.synchronize()
    first = time.perf_counter_ns() - begin
    return time_beside(base, Steps(stepper, first_ns=first), SECONDS)


class Copies:
    """Copies of the user's model, each changed in one thing and timed beside an unchanged one.

    A copy has no metrics and steps one by one, so that its step is not quite the user's: the
    unchanged copy is the measure for all others.
    """

    def __init__(self, context: Context) -> None:
        # A copy is made from the optimizer's settings, which are variables as well.
        context.backend.hold_state(context.fit.model, context.result)
        self._backend = context.backend
        self._model = context.fit.model
        self._batch = context.batch
        given = context.recorder.compiled_with.get(self._model)
        self._compiled_with = given or {"loss": getattr(self._model, "loss", None)}
        self._base: Steps | None = None

    def as_is(self) -> ChangedCopy:
        """The step of an unchanged copy, which is kept to compare with."""
        self._base, parameters = self._copy(Change())
        return ChangedCopy(**time_alone(self._base, SECONDS), parameters=parameters)

    def changed(self, change: Change) -> ChangedCopy:
        """The step of a changed copy."""
        if self._base is None:
            raise NotAvailable("an unchanged copy could not be made")
        steps, parameters = self._copy(change)
        return ChangedCopy(**time_beside(self._base, steps, SECONDS), parameters=parameters)

    def _copy(self, change: Change) -> tuple[Steps, int]:
        copy = cloned(self._model, self._compiled_with, change)
        x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(self._batch)
        begin = time.perf_counter_ns()
        copy.train_on_batch(x, y, sample_weight=weight)  # builds, traces and compiles
        first = time.perf_counter_ns() - begin
        call: Any = SimpleNamespace(model=copy, epoch_iterator=None, executions=1)
        stepper = self._backend.stepper(call, copy.train_function, self._batch, None)
        return Steps(stepper, first_ns=first), int(copy.count_params())
