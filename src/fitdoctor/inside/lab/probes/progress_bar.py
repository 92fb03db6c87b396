"""Steps inside Keras's loop, with its progress bar and without."""

from __future__ import annotations

from fitdoctor.contract.evidence.step import ProgressBar
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.lab.apparatus.frozen_steps import (
    WARM_UP_SECONDS,
    keras_callbacks,
    own_stepper,
    time_in_loop,
    time_steps,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.lab.probes.batch_scaling import start_may_matter
from fitdoctor.inside.seams.backends.base import Stepper

# The progress bar takes a few tenths of a millisecond at most.
BAR_STEP_NS = 4_000_000
BAR_STEPS = 1_000_000  # more than a probe will do, so that the bar never ends


class ProgressBarProbe(Probe[ProgressBar]):
    """The bar writes nowhere; what it computes and formats remains."""

    phase = Phase.HOST
    after = ("batch_scaling",)

    def wanted(self, context: Context) -> bool:
        verbose = context.fit.arguments.get("verbose", "auto")
        is_short = (context.period_ns or 0.0) < BAR_STEP_NS
        return start_may_matter(context) and verbose in ("auto", 1) and is_short

    def run(self, context: Context) -> ProgressBar:
        stepper = own_stepper(context)
        time_steps(stepper, context.fit.executions, WARM_UP_SECONDS)
        return ProgressBar(
            without_bar=_timed(context, stepper, verbose=0),
            with_bar=_timed(context, stepper, verbose=1),
        )


def _timed(context: Context, stepper: Stepper, verbose: int) -> Timed:
    model = context.fit.model
    callbacks = keras_callbacks(
        model,
        add_history=True,
        add_progbar=verbose != 0,
        verbose=verbose,
        epochs=1,
        steps=BAR_STEPS,
    )
    return time_in_loop(callbacks, model, stepper, context.fit.executions).timed()
