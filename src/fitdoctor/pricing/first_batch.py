"""Epochs that begin sooner: what one pass over the data, timed from its start, says of training."""

from __future__ import annotations

from typing import NamedTuple

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import OnePass
from fitdoctor.intervals import Interval

# The first batch must come sooner by this share of an epoch.
STALL_SHARE = 0.05
# A pass is timed once; this is how far it may be off.
ONE_PASS_ERROR = 0.2


class Shared(NamedTuple):
    """Cores that loading and the step keep busy, each alone, and those there are."""

    loading: float
    stepping: float
    cpus: float


class Epochs(NamedTuple):
    """An epoch as written and after the change, and what a step saves by it."""

    now: float
    then: float
    saved: Interval


def earlier_first_batch(view: View, late: OnePass, early: OnePass, steps: float) -> Epochs | None:
    """What the earlier first batch saves; None where it is not worth a word."""
    loader, stepping = view.loader, min(view.frozen_cores, view.cpus)
    shared = Shared(loader.cores, stepping, view.cpus) if loader is not None else None
    step = view.ceiling_step.value
    now, then = (epoch_ns(one, steps, step, shared) for one in (late, early))
    if late.first_ns - early.first_ns < STALL_SHARE * now or now <= then:
        return None
    total = view.costs.total
    kept = Interval.minimum(Interval.around(then / now, ONE_PASS_ERROR), Interval.exact(1.0))
    return Epochs(now, then, Interval.exact(total.value).minus(kept.scaled(total.value)))


def epoch_ns(
    one_pass: OnePass, steps: float, step_ns: float, shared: Shared | None = None
) -> float:
    """An epoch of training over a pass: its first batch, then batch or step by turns.

    Where the two need more cores than there are, they share them.

    Example:
        >>> one = OnePass(first_ns=100, ns=190, batches=10)
        >>> epoch_ns(one, steps=10, step_ns=20.0)
        300.0
    """
    later = max(1, one_pass.batches - 1)
    batch = (one_pass.ns - one_pass.first_ns) / later
    longer = max(batch, step_ns)
    if shared is not None:
        longer = max(longer, (batch * shared.loading + step_ns * shared.stepping) / shared.cpus)
    return float(one_pass.first_ns + steps * longer)
