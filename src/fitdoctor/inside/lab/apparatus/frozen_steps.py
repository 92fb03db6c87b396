"""Frozen batch: training steps on one batch in memory, which is the ceiling of the step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.lab.apparatus.stacks import StackSampler
from fitdoctor.inside.lab.apparatus.windows import Windows, Work, in_turns, measure
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend, Stepper
from fitdoctor.inside.seams.watch.outside_torch import watch_absences

SECONDS = 1.5
SAMPLED_SECONDS = 0.6
IDLE_SECONDS = 0.3
WARM_UP_STEPS = 3
# JAX takes dozens of steps that are only enqueued: of long ones, a window would never end. Waiting
# for each of them costs nothing beside it.
LONG_STEP_S = 0.02


def time_steps(stepper: Stepper, executions: int, seconds: float) -> Windows:
    """Nanoseconds per step; `executions` steps are done by one call of the stepper."""
    work, synchronize = _warm(stepper, executions)
    return measure(work, synchronize, seconds=seconds)


@dataclass(frozen=True)
class Steps:
    """Steps to be timed; `executions` of them are done by one call of the stepper."""

    stepper: Stepper
    executions: int = 1


def time_beside(base: Steps, changed: Steps, seconds: float) -> Data:
    """Nanoseconds per changed step, in turns with the steps as they are (`base_ns`)."""
    works = [_warm(steps.stepper, steps.executions) for steps in (base, changed)]
    as_is, then = in_turns(*works, seconds=seconds)
    return {**then.to_record(), "base_ns": as_is.to_record()["ns"]}


def _warm(stepper: Stepper, executions: int) -> Work:
    took = 0.0
    for _ in range(WARM_UP_STEPS):
        begin = time.perf_counter()
        stepper.step()
        stepper.synchronize()
        took = time.perf_counter() - begin
    is_long = took >= LONG_STEP_S

    def work() -> int:
        stepper.step()
        if is_long:
            stepper.synchronize()
        return executions

    return work, stepper.synchronize


def python_in_steps(
    backend: Backend, call: Call, function: Callable[..., Any], batch: Any, result: Any
) -> Data:
    """Which of the user's functions run during compiled steps: only host ops call any.

    A thread of the user's own (a monitor, a loader that reads ahead) runs with or without steps;
    what is seen without them is told beside it. On torch every step runs from Python: there, in
    which functions it is away from torch.
    """
    stepper = backend.stepper(call, function, batch, result)
    if backend.name == "torch":
        return watch_absences(stepper.step, SAMPLED_SECONDS)
    with StackSampler() as without:
        time.sleep(IDLE_SECONDS)
    with StackSampler() as sampler:
        time_steps(stepper, call.executions, SAMPLED_SECONDS)
    return {**sampler.result(), "without_steps": without.result()["functions"]}


def frozen_steps(
    backend: Backend,
    call: Call,
    function: Callable[..., Any],
    batch: Any,
    result: Any,
    seconds: float = SECONDS,
) -> Data:
    """The user's own compiled step on the frozen batch."""
    stepper = backend.stepper(call, function, batch, result)
    windows = time_steps(stepper, call.executions, seconds)
    return {**windows.to_record(), "rows": backend.rows(batch)}
