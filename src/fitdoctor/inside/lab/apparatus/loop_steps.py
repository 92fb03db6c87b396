"""Steps inside Keras's own loop, and steps under other compile settings."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from typing import Any

from fitdoctor.inside.lab.apparatus.frozen_steps import Steps
from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.seams.backends.base import Stepper
from fitdoctor.inside.seams.backends.keras_loop import result_handling

SECONDS = 1.0
WARM_UP_SECONDS = 0.1
LOOP_SECONDS = 0.6


def steps_under_settings(context: Context, batch: Any, **settings: Any) -> Steps:
    """Steps under other compile settings; on the user's own data where `batch` is None."""
    backend, call = context.backend, context.fit
    function = backend.step_function(call.model, **settings)
    if batch is None:
        stepper = backend.live_stepper(call, function, context.result)
    else:
        stepper = backend.stepper(call, function, batch, context.result)
    begin = time.perf_counter_ns()
    stepper.step()
    stepper.synchronize()
    first = time.perf_counter_ns() - begin
    return Steps(stepper, int(settings.get("steps_per_execution", call.executions)), first)


def keras_callbacks(model: Any = None, **settings: Any) -> Any:
    """What Keras's loop calls around each step, without any callback of the user's."""
    return sys.modules["keras"].callbacks.CallbackList(None, model=model, **settings)


def time_in_loop(
    callbacks: Any, model: Any, stepper: Stepper, executions: int, seconds: float = SECONDS
) -> Windows:
    """Nanoseconds per step inside Keras's loop, which writes nowhere.

    What Keras does around each step, part of it on another thread, takes longer than a tiny step.
    """
    numbers = itertools.count()

    def work() -> None:
        number = next(numbers)
        callbacks.on_train_batch_begin(number)
        stepper.step()
        hand_over()
        callbacks.on_train_batch_end(number, stepper.logs)

    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        result_handling(model, stepper) as hand_over,
    ):
        callbacks.on_train_begin()
        callbacks.on_epoch_begin(0)
        try:
            return measure(work, stepper.synchronize, seconds=seconds, units=executions)
        finally:
            callbacks.on_train_end()
