"""Steps on one batch in memory, which is the ceiling of the step; and again some seconds later."""

from __future__ import annotations

from fitdoctor.contract.evidence.step import FrozenAgain, FrozenBatch, FrozenInLoop
from fitdoctor.inside.lab.apparatus.fit_step import FitStep
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    LOOP_SECONDS,
    WARM_UP_SECONDS,
    keras_callbacks,
    own_stepper,
    time_in_loop,
    time_steps,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject

SECONDS = 1.5
AGAIN_S = 0.8
# Keras's loop takes a few tenths of a millisecond around each step.
LOOP_STEP_NS = 5_000_000


class FrozenBatchProbe(Probe[FrozenBatch]):
    """The user's own compiled step on the frozen batch, which later probes use as well."""

    phase = Phase.STEP
    subjects = frozenset({Subject.FIT, Subject.SWEEP})
    on_spread_models = True

    def run(self, context: Context) -> FrozenBatch:
        if context.is_spread:
            raise NotAvailable("the model is spread over several devices")
        function = context.step_function
        context.batch = context.backend.frozen_batch(
            context.fit, context.arguments, may_consume=context.may_consume
        )
        context.trial = FitStep(
            context.backend,
            context.fit,
            context.batch,
            context.result,
            is_eager=context.is_eager,
        )
        windows = time_steps(own_stepper(context, function), context.fit.executions, SECONDS)
        return FrozenBatch(**windows.fields(), rows=context.backend.rows(context.batch))


class FrozenAgainProbe(Probe[FrozenAgain]):
    """A shared machine's pace changes within seconds: measured twice, apart, it shows."""

    phase = Phase.STEP_AGAIN

    def wanted(self, context: Context) -> bool:
        return context.input_matters and context.batch is not None

    def run(self, context: Context) -> FrozenAgain:
        stepper = own_stepper(context, context.step_function)
        windows = time_steps(stepper, context.fit.executions, AGAIN_S)
        return FrozenAgain(**windows.fields(), rows=context.backend.rows(context.batch))


class FrozenInLoopProbe(Probe[FrozenInLoop]):
    """The frozen batch inside Keras's loop: what data in memory would leave of a tiny step."""

    phase = Phase.STEP_AGAIN
    after = ("frozen_again",)

    def wanted(self, context: Context) -> bool:
        is_short = context.step_ns is not None and context.step_ns < LOOP_STEP_NS
        return context.input_matters and context.batch is not None and is_short

    def run(self, context: Context) -> FrozenInLoop:
        call, stepper = context.fit, own_stepper(context)
        time_steps(stepper, call.executions, WARM_UP_SECONDS)
        callbacks = keras_callbacks(call.model, add_history=True, add_progbar=False)
        windows = time_in_loop(callbacks, call.model, stepper, call.executions, LOOP_SECONDS)
        return FrozenInLoop(**windows.fields())
