"""Steps on the frozen batch: how they are warmed up, timed, and timed beside changed ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.lab.apparatus.windows import TimedFields, Windows, Work, in_turns, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.seams.backends.base import Stepper

WARM_UP_STEPS = 3
# JAX takes dozens of steps that are only enqueued: of long ones, a window would never end. Waiting
# for each of them costs nothing beside it.
LONG_STEP_S = 0.02


class BesideFields(TimedFields):
    """The fields of changed steps that were timed in turns with the steps as they are."""

    base_ns: tuple[float, ...] | None
    first_ns: int | None


@dataclass(frozen=True)
class Steps:
    """Steps to be timed; `executions` of them are done by one call of the stepper."""

    stepper: Stepper
    executions: int = 1
    first_ns: int | None = None  # the first call, which compiles


def time_steps(stepper: Stepper, executions: int, seconds: float) -> Windows:
    """Nanoseconds per step; `executions` steps are done by one call of the stepper."""
    work = _warm(stepper, executions)
    return measure(work.run, work.wait, seconds=seconds, units=executions)


def time_alone(steps: Steps, seconds: float) -> BesideFields:
    """As `time_beside`, with nothing to compare with."""
    windows = time_steps(steps.stepper, steps.executions, seconds)
    return {**windows.fields(), "base_ns": None, "first_ns": steps.first_ns}


def time_beside(base: Steps, changed: Steps, seconds: float) -> BesideFields:
    """Nanoseconds per changed step, in turns with the steps as they are (`base_ns`)."""
    works = [_warm(steps.stepper, steps.executions) for steps in (base, changed)]
    as_is, then = in_turns(*works, seconds=seconds)
    return {**then.fields(), "base_ns": as_is.rounded_ns, "first_ns": changed.first_ns}


def own_stepper(context: Context, function: Callable[..., Any] | None = None) -> Stepper:
    """Steps of the user's own function, or of another one, on the frozen batch."""
    call = context.fit
    step = function or call.step_function or context.backend.step_function(call.model)
    return context.backend.stepper(call, step, context.batch, context.result)


def compiled_step_ns(context: Context) -> float | None:
    """The step on the frozen batch; None where it was not timed, or runs op by op."""
    return None if context.step_ns is None or context.is_eager else context.step_ns


def _warm(stepper: Stepper, executions: int) -> Work:
    took = 0.0
    for _ in range(WARM_UP_STEPS):
        begin = time.perf_counter()
        stepper.step()
        stepper.synchronize()
        took = time.perf_counter() - begin
    is_long = took >= LONG_STEP_S

    def step() -> None:
        stepper.step()
        if is_long:
            stepper.synchronize()

    return Work(step, stepper.synchronize, executions)
