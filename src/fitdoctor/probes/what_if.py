"""The same training step on a changed copy of the model: what a change would really give."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fitdoctor.probes.experiment import Data
from fitdoctor.probes.frozen import time_steps
from fitdoctor.recorder.backends.base import Backend
from fitdoctor.recorder.backends.clones import Change, cloned
from fitdoctor.recorder.backends.contexts import Context
from fitdoctor.recorder.calls import Call

SECONDS = 0.8


def step_of_copy(
    backend: Backend, model: Any, compiled_with: dict[str, Any], batch: Any, change: Change
) -> Data:
    """Build a changed copy and time its steps on the frozen batch.

    An unchanged copy is the measure for all changed ones: a copy has no metrics and
    steps one by one, so its step is not quite the user's.
    """
    copy = cloned(model, compiled_with, change)
    x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(batch)
    begin = time.perf_counter_ns()
    copy.train_on_batch(x, y, sample_weight=weight)  # builds, traces and compiles
    first = time.perf_counter_ns() - begin
    call: Any = SimpleNamespace(model=copy, epoch_iterator=None, executions=1)
    stepper = backend.stepper(call, copy.train_function, batch, None)
    windows = time_steps(stepper, 1, SECONDS)
    return {**windows.to_record(), "first_ns": first, "parameters": int(copy.count_params())}


def step_under(
    backend: Backend, call: Call, batch: Any, result: Any, make: Callable[[Any], Context]
) -> Data:
    """The user's own model on the frozen batch, with something changed for the while."""
    begin = time.perf_counter_ns()
    stepper = backend.stepper_under(call, make(call.model), batch, result)
    stepper.step()
    stepper.synchronize()
    first = time.perf_counter_ns() - begin
    return {**time_steps(stepper, 1, SECONDS).to_record(), "first_ns": first}
