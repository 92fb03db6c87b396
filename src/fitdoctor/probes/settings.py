"""Trials of compile settings on the frozen batch, each with a step of its own."""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any

from fitdoctor.probes.experiment import Data
from fitdoctor.probes.frozen import time_steps
from fitdoctor.probes.windows import measure
from fitdoctor.recorder.backends.base import Backend
from fitdoctor.recorder.calls import Call

SECONDS = 1.0


def trial(backend: Backend, call: Call, batch: Any, result: Any, **settings: Any) -> Data:
    """The step under other settings: steady time, and the time to make it.

    On the frozen batch if there is one, else (`batch` is None) on the user's own data.
    """
    executions = int(settings.get("steps_per_execution", call.executions))
    function = backend.step_function(call.model, **settings)
    if batch is None:
        stepper = backend.live_stepper(call, function, result)
    else:
        stepper = backend.stepper(call, function, batch, result)
    begin = time.perf_counter_ns()
    stepper.step()
    stepper.synchronize()
    first = time.perf_counter_ns() - begin
    windows = time_steps(stepper, executions, SECONDS)
    return {**windows.to_record(), "settings": settings, "first_ns": first}


def graph_trial(backend: Backend, call: Call, batch: Any, result: Any, **settings: Any) -> Data:
    """The step compiled, alone and inside Keras's loop.

    A compiled step may be far shorter than what Keras does around each step, part of it
    on another thread; both together are what the user would get.
    """
    function = backend.step_function(call.model, **settings)
    stepper = backend.stepper(call, function, batch, result)
    windows = time_steps(stepper, call.executions, SECONDS)
    callbacks = sys.modules["keras"].callbacks.CallbackList(None, add_history=False)
    numbers = itertools.count()

    def work() -> int:
        number = next(numbers)
        callbacks.on_train_batch_begin(number)
        stepper.step()
        callbacks.on_train_batch_end(number, stepper.logs)
        return call.executions

    callbacks.on_train_begin()
    try:
        in_loop = measure(work, stepper.synchronize, seconds=SECONDS)
    finally:
        callbacks.on_train_end()
    return {**windows.to_record(), "settings": settings, "in_loop": in_loop.to_record()}
