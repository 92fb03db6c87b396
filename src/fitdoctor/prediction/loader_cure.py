"""What a faster loader would leave of a step."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.intervals import Interval
from fitdoctor.prediction.overlap import StepModel

# The loader must explain at least this share of the time that input costs.
EXPLAINED_SHARE = 0.5
WORTH_GAIN = 1.05
LOWEST_GAIN = 1.01


def input_is_slow(view: View) -> bool:
    """Whether real steps take longer than frozen ones, and the loader explains it."""
    gain, loader = view.input_gain, view.loader
    if gain is None or loader is None or view.frozen is None:
        return False
    if gain.value < WORTH_GAIN or gain.low < LOWEST_GAIN:
        return False
    lost = view.core.value - view.ceiling_step.value
    return loader.ns.value >= EXPLAINED_SHARE * lost


def saved_by(view: View, loader_after: Interval, *, overlapped: bool) -> Interval:
    """Nanoseconds per step that a loader of this speed would save.

    Args:
        view: the workload as it is.
        loader_after: time per batch after the cure.
        overlapped: the cure also moves loading beside the step (workers, threads).
    """
    loader = view.loader.ns if view.loader is not None else loader_after
    step = view.ceiling_step
    now = view.core
    model = StepModel.fitted(now.value, step.value, loader.value)
    then = (StepModel(1.0) if overlapped else model).core(step, loader_after)
    return now.minus(then)
