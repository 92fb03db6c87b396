"""Steps on the frozen batch: alone, in Keras's loop, and beside steps with something changed."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from fitdoctor.contract.evidence.model import ChangedCopy
from fitdoctor.inside.lab.apparatus.windows import TimedFields, Windows, Work, in_turns, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.backends.base import Stepper
from fitdoctor.inside.seams.backends.jax import result_handling
from fitdoctor.inside.seams.models.clones import Rebuild, cloned
from fitdoctor.inside.seams.models.contexts import Context as ModelChange

WARM_UP_STEPS = 3
# JAX takes dozens of steps that are only enqueued: of long ones, a window would never end. Waiting
# for each of them costs nothing beside it.
LONG_STEP_NS = 20_000_000
SECONDS = 1.0
WARM_UP_SECONDS = 0.1
LOOP_SECONDS = 0.6
IN_TURNS_S = 1.2


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
    """Steps of the user's own function, or of another one of a fit, on the frozen batch."""
    if function is None:
        return context.step.as_is()
    return context.backend.stepper(context.fit, function, context.batch, context.result)


def compiled_step_ns(context: Context) -> float | None:
    """The step on the frozen batch; None where it was not timed, or runs op by op."""
    return None if context.step_ns is None or context.is_eager else context.step_ns


def _step_ns(stepper: Stepper) -> int:
    """One step that is waited for."""
    begin = time.perf_counter_ns()
    stepper.step()
    stepper.synchronize()
    return time.perf_counter_ns() - begin


def _warm(stepper: Stepper, executions: int) -> Work:
    *_, took = [_step_ns(stepper) for _ in range(WARM_UP_STEPS)]
    is_long = took >= LONG_STEP_NS

    def step() -> None:
        stepper.step()
        if is_long:
            stepper.synchronize()

    return Work(step, stepper.synchronize, executions)


def steps_under_settings(context: Context, batch: Any, **settings: Any) -> Steps:
    """Steps under other compile settings; on the user's own data where `batch` is None."""
    backend, call = context.backend, context.fit
    function = backend.step_function(call.model, **settings)
    if batch is None:
        stepper = backend.live_stepper(call, function, context.result)
    else:
        stepper = backend.stepper(call, function, batch, context.result)
    executions = int(settings.get("steps_per_execution", call.executions))
    return Steps(stepper, executions, _step_ns(stepper))


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


def step_under(context: Context, make: Callable[[Any], ModelChange]) -> BesideFields:
    """The user's own model on the frozen batch, with something changed meanwhile."""
    step = context.step
    base = Steps(step.as_is(), step.executions)
    begin = time.perf_counter_ns()
    stepper = step.under(make(step.model))
    _step_ns(stepper)
    first = time.perf_counter_ns() - begin
    return time_beside(base, Steps(stepper, first_ns=first), IN_TURNS_S)


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
        self._base, parameters = self._copy(None)
        return ChangedCopy(**time_alone(self._base, IN_TURNS_S), parameters=parameters)

    def changed(self, change: Rebuild) -> ChangedCopy:
        """The step of a changed copy."""
        if self._base is None:
            raise NotAvailable("an unchanged copy could not be made")
        steps, parameters = self._copy(change)
        return ChangedCopy(**time_beside(self._base, steps, IN_TURNS_S), parameters=parameters)

    def _copy(self, change: Rebuild | None) -> tuple[Steps, int]:
        copy = cloned(self._model, self._compiled_with, change)
        x, y, weight = sys.modules["keras"].utils.unpack_x_y_sample_weight(self._batch)
        begin = time.perf_counter_ns()
        copy.train_on_batch(x, y, sample_weight=weight)  # builds, traces and compiles
        first = time.perf_counter_ns() - begin
        call: Any = SimpleNamespace(model=copy, epoch_iterator=None, executions=1)
        stepper = self._backend.stepper(call, copy.train_function, self._batch, None)
        return Steps(stepper, first_ns=first), int(copy.count_params())
