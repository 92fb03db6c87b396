"""Epochs that begin sooner: what one pass over the data, timed from its start, says of training."""

from __future__ import annotations

from typing import Any, NamedTuple

from fitdoctor.analysis.view import View
from fitdoctor.intervals import Interval

# The first batch must come sooner by this share of an epoch.
STALL_SHARE = 0.05
# A pass is timed once; this is how far it may be off.
ONE_PASS_ERROR = 0.2


class Epochs(NamedTuple):
    """An epoch as written and after the change, and what a step saves by it."""

    now: float
    then: float
    saved: Interval


def earlier_first_batch(
    view: View, late: dict[str, Any], early: dict[str, Any], steps: float
) -> Epochs | None:
    """What the earlier first batch saves; None where it is not worth a word."""
    step = view.ceiling_step.value
    now, then = epoch_ns(late, steps, step), epoch_ns(early, steps, step)
    if late["first_ns"] - early["first_ns"] < STALL_SHARE * now or now <= then:
        return None
    total = view.costs.total
    left = Interval.around(then / now, ONE_PASS_ERROR)
    kept = Interval(left.value, left.low, min(1.0, left.high))
    return Epochs(now, then, Interval.exact(total.value).minus(kept.scaled(total.value)))


def epoch_ns(one_pass: dict[str, Any], steps: float, step_ns: float) -> float:
    """An epoch of training over a pass: its first batch, then batch or step by turns.

    Example:
        >>> one = {"first_ns": 100, "ns": 190, "batches": 10}
        >>> epoch_ns(one, steps=10, step_ns=20.0)
        300.0
    """
    later = max(1, one_pass["batches"] - 1)
    batch = (one_pass["ns"] - one_pass["first_ns"]) / later
    return float(one_pass["first_ns"] + steps * max(batch, step_ns))
