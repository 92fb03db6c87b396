"""What a step takes where several are started in one execution (`steps_per_execution`)."""

from __future__ import annotations

import math

from fitdoctor.analysis.estimate import ratio_in_turns
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.step import StepsPerExecution
from fitdoctor.intervals import Interval

FEW_TOGETHER = 10
MANY_TOGETHER = 50
# The larger number must be worth it: progress and callbacks become coarser.
WORTH_MORE = 1.25
# Per-step costs outside the trial are divided by the number of executions only in part
# (the iterator is still advanced step by step): this much either way.
LOOP_UNCERTAINTY = 0.5
# Keras's own loop around a step took 0 to 0.33 ms in 29 trainings on three backends where it was
# measured; what a real step takes beyond that is something else, such as a busy neighbour.
MOST_LOOP_NS = 1e6
# Read alone from Python, batch by batch, a loader is a little slower than in the graph.
LOADER_SHARE = 0.8


def best_together(view: View) -> tuple[int, Interval] | None:
    """The number of steps per execution worth recommending, and the step it would give."""
    base = view.timed(StepsPerExecution, "1")
    if base is None:
        return None
    best: tuple[int, Interval] | None = None
    for executions in (FEW_TOGETHER, MANY_TOGETHER):
        trial = _together(view, base, executions)
        if trial is None or _joined(view, executions) <= 0:
            continue
        after = _not_below_loader(view, trial + _loop_share(view, base, executions))
        if best is None or best[1].value > WORTH_MORE * after.value:
            best = (executions, after)
    return best


def _together(view: View, base: Interval, executions: int) -> Interval | None:
    """A step of several in one execution: by what it leaves of one by itself, timed in turns.

    The trial had as many batches as it wanted; an epoch may end in the middle of an execution.
    """
    found = view.found(StepsPerExecution, str(executions))
    ratio = ratio_in_turns(found) if found is not None else None
    if ratio is not None and ratio.high >= 1.0:
        return None  # long steps vary by more than starting them takes: it may be luck
    if ratio is None:
        trial = view.timed(StepsPerExecution, str(executions))
    else:
        trial = ratio.scaled(base.value)
    joined = _joined(view, executions)
    return None if trial is None else trial.scaled(joined) + base.scaled(1 - joined)


def _joined(view: View, executions: int) -> float:
    """How much of what the trial saved is left, since an execution ends with its epoch."""
    steps = view.steps_per_epoch
    if steps is None or steps < 1:
        return 1.0
    starts = math.ceil(steps / executions) / steps
    return min(1.0, (1 - starts) / (1 - 1 / executions))


def _not_below_loader(view: View, after: Interval) -> Interval:
    """Steps cannot follow each other faster than their data comes."""
    if view.loader is None:
        return after
    return Interval.maximum(after, view.loader.ns.scaled(LOADER_SHARE))


def _loop_share(view: View, base: Interval, executions: int) -> Interval:
    """Keras's loop around the step, once per execution instead of once per step."""
    beside = max(0.0, view.core.value - base.value)
    loop = min(MOST_LOOP_NS, beside)
    share = beside - loop * _joined(view, executions) * (1 - 1 / executions)
    return Interval(share, share * (1 - LOOP_UNCERTAINTY), share * (1 + LOOP_UNCERTAINTY))
