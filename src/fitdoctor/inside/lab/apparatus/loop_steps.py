"""Trials of compile settings on the frozen batch, each with a step of its own."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from typing import Any

from fitdoctor.inside.lab.apparatus.frozen_steps import Steps, time_beside, time_steps
from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable, Stepper
from fitdoctor.inside.seams.backends.keras_loop import result_handling

SECONDS = 1.0
WARM_UP_SECONDS = 0.1
LOOP_SECONDS = 0.6
ALONE_SECONDS = 0.3
BAR_STEPS = 1_000_000  # more than a probe will do, so that the bar never ends


def trial(backend: Backend, call: Call, batch: Any, result: Any, **settings: Any) -> Data:
    """The step under other settings, in turns with the user's own; and the time to make it."""
    function = call.step_function or backend.step_function(call.model)
    base = Steps(backend.stepper(call, function, batch, result), call.executions)
    steps, facts = _steps(backend, call, batch, result, settings)
    return {**time_beside(base, steps, SECONDS), **facts}


class ExecutionTrials:
    """Several steps per execution, each number in turns with steps one by one."""

    def __init__(self, backend: Backend, call: Call, batch: Any, result: Any) -> None:
        """`batch` is None where the user's own data can be read again."""
        self._given = (backend, call, batch, result)
        self._base: Steps | None = None

    def one_by_one(self) -> Data:
        """Steps as they are, which are kept to compare with."""
        self._base, facts = _steps(*self._given, {"steps_per_execution": 1})
        return {**time_steps(self._base.stepper, 1, SECONDS).to_record(), **facts}

    def together(self, number: int) -> Data:
        """This many steps in one execution."""
        if self._base is None:
            raise NotAvailable("steps one by one could not be timed")
        steps, facts = _steps(*self._given, {"steps_per_execution": number})
        return {**time_beside(self._base, steps, SECONDS), **facts}


def _steps(
    backend: Backend, call: Call, batch: Any, result: Any, settings: dict[str, Any]
) -> tuple[Steps, Data]:
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
    return Steps(stepper, executions), {"settings": settings, "first_ns": first}


def graph_trial(backend: Backend, call: Call, batch: Any, result: Any, **settings: Any) -> Data:
    """The step compiled, alone and inside Keras's loop.

    A compiled step may be far shorter than what Keras does around each step, part of it
    on another thread; both together are what the user would get.
    """
    function = backend.step_function(call.model, **settings)
    stepper = backend.stepper(call, function, batch, result)
    windows = time_steps(stepper, call.executions, SECONDS)
    callbacks = sys.modules["keras"].callbacks.CallbackList(None, add_history=False)
    in_loop = _in_loop(callbacks, call.model, stepper, call.executions)
    return {**windows.to_record(), "settings": settings, "in_loop": in_loop.to_record()}


def frozen_in_loop(backend: Backend, call: Call, batch: Any, result: Any) -> Data:
    """Steps on the frozen batch inside Keras's loop: what data in memory would leave of a step.

    What Keras does around each step, part of it on another thread, takes longer than a tiny step.
    """
    function = call.step_function or backend.step_function(call.model)
    stepper = backend.stepper(call, function, batch, result)
    time_steps(stepper, call.executions, WARM_UP_SECONDS)
    callbacks = sys.modules["keras"].callbacks.CallbackList(
        None, add_history=True, add_progbar=False, model=call.model
    )
    return _in_loop(callbacks, call.model, stepper, call.executions, LOOP_SECONDS).to_record()


def loop_alone(backend: Backend, call: Call, batch: Any, result: Any) -> Data:
    """Keras's loop around a step of one row, and that step alone.

    Where the device computes while the host goes on (JAX), a short step hides behind the loop:
    no faster step makes training faster than this.
    """
    if backend.rows(batch) is None:
        raise NotAvailable("the tensors of a batch do not share their first dimension")
    # A step of its own: another shape would make the user's compiled one more general.
    function = backend.step_function(call.model, steps_per_execution=1)
    stepper = backend.stepper(call, function, backend.cut(batch, 1), result)
    alone = time_steps(stepper, 1, ALONE_SECONDS)
    callbacks = sys.modules["keras"].callbacks.CallbackList(
        None, add_history=True, add_progbar=False, model=call.model
    )
    in_loop = _in_loop(callbacks, call.model, stepper, 1, LOOP_SECONDS)
    return {**in_loop.to_record(), "alone": alone.to_record()}


def progress_bar(backend: Backend, call: Call, batch: Any, result: Any) -> Data:
    """Steps inside Keras's loop, with its progress bar and without, the bar writing nowhere."""
    function = call.step_function or backend.step_function(call.model)
    stepper = backend.stepper(call, function, batch, result)
    time_steps(stepper, call.executions, WARM_UP_SECONDS)
    data: Data = {}
    for name, verbose in (("without", 0), ("with", 1)):
        callbacks = sys.modules["keras"].callbacks.CallbackList(
            None,
            add_history=True,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=1,
            steps=BAR_STEPS,
            model=call.model,
        )
        data[name] = _in_loop(callbacks, call.model, stepper, call.executions).to_record()
    return data


def _in_loop(
    callbacks: Any, model: Any, stepper: Stepper, executions: int, seconds: float = SECONDS
) -> Windows:
    numbers = itertools.count()

    def work() -> int:
        number = next(numbers)
        callbacks.on_train_batch_begin(number)
        stepper.step()
        hand_over()
        callbacks.on_train_batch_end(number, stepper.logs)
        return executions

    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        result_handling(model, stepper) as hand_over,
    ):
        callbacks.on_train_begin()
        callbacks.on_epoch_begin(0)
        try:
            return measure(work, stepper.synchronize, seconds=seconds)
        finally:
            callbacks.on_train_end()
