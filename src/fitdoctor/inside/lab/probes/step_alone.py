"""The step of a loop or of `train_on_batch` by itself: what further experiments compare with."""

from __future__ import annotations

from fitdoctor.contract.evidence.step import StepAlone
from fitdoctor.inside.lab.apparatus.fit_step import FitStep
from fitdoctor.inside.lab.apparatus.frozen_steps import time_steps
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject

SECONDS = 1.2
TRAINING = "train_on_batch"


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
        windows = time_steps(step.as_is(), step.executions, SECONDS)
        return StepAlone(
            **windows.fields(), rows=step.rows, stands_in=getattr(step, "stands_in", False)
        )


def _on_batch(context: Context) -> FitStep:
    """Keras's step on the arrays that the last call was given."""
    call = context.fit
    x, y, weight = (call.arguments.get(name) for name in ("x", "y", "sample_weight"))
    if x is None or call.model.train_function is None:
        raise NotAvailable("the training step was not seen")
    given_batch = (x,) if y is None else (x, y) if weight is None else (x, y, weight)
    context.batch = context.backend.as_tensors(given_batch)
    return FitStep(context.backend, call, context.batch, None, is_eager=context.is_eager)
