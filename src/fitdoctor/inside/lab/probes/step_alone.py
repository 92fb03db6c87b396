"""The step of a loop or of `train_on_batch` by itself: what further experiments compare with."""

from __future__ import annotations

from fitdoctor.contract.evidence.loop import LoopLines
from fitdoctor.contract.evidence.step import StepAlone
from fitdoctor.inside.lab.apparatus.fit_step import FitStep
from fitdoctor.inside.lab.apparatus.frozen_steps import time_steps
from fitdoctor.inside.lab.context import Context, median_ns
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject

SECONDS = 1.2
TRAINING = "train_on_batch"
# A body that takes this many times a plain step of its model does something else as well: two
# models in turn, and a loss of some size, are still within it.
STAND_IN_EXPLAINS = 3.0


class StepAloneProbe(Probe[StepAlone]):
    phase = Phase.STEP
    subjects = frozenset({Subject.LOOP, Subject.GROUP})

    def wanted(self, context: Context) -> bool:
        """A group trains in steps only where it is one of `train_on_batch`."""
        return context.call is None or context.call.kind == TRAINING

    def run(self, context: Context) -> StepAlone:
        if context.call is not None:
            context.trial = _on_batch(context)
        step = context.step
        stands_in = getattr(step, "stands_in", False)
        windows = time_steps(step.as_is(), step.executions, SECONDS)
        found = StepAlone(**windows.fields(), rows=step.rows, stands_in=stands_in)
        if stands_in and not _is_most_of_the_body(context, found):
            context.trial = None
            context.why_no_trial = (
                "the loop's body takes far longer than a plain step of its model, so that trials "
                "on such a step say nothing about it"
            )
        return found


def _is_most_of_the_body(context: Context, alone: StepAlone) -> bool:
    """Whether a plain step of the model accounts for what the loop spends in the framework."""
    lines, step_ns = context.found(LoopLines), median_ns(alone)
    if lines is None or step_ns is None or context.period_ns is None:
        return True
    parts = (lines.loading, lines.step, lines.own, lines.reads)
    whole = sum(part.ns for part in parts)
    in_framework = (lines.step.ns + lines.reads.ns) / whole if whole else 1.0
    return STAND_IN_EXPLAINS * step_ns >= in_framework * context.period_ns


def _on_batch(context: Context) -> FitStep:
    """Keras's step on the arrays that the last call was given."""
    call = context.fit
    x, y, weight = (call.arguments.get(name) for name in ("x", "y", "sample_weight"))
    if x is None or call.model.train_function is None:
        raise NotAvailable("the training step was not seen")
    given_batch = (x,) if y is None else (x, y) if weight is None else (x, y, weight)
    context.batch = context.backend.as_tensors(given_batch)
    return FitStep(context.backend, call, context.batch, None, is_eager=context.is_eager)
