"""How many cores the input needs to keep the step fed, and whether this host has them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitdoctor.analysis.view import View
from fitdoctor.intervals import Interval

# A loader that leaves most of one core idle waits for something that cores do not speed up.
WAITING_CORES = 0.5
# Parallel workers share memory bandwidth and a dispatcher; measured work never divides evenly.
SPREAD_ERROR = 0.2


@dataclass(frozen=True)
class ScaleOut:
    """What feeding the step takes, in cores of this kind."""

    batch_work_ns: Interval  # CPU time for one batch
    step_ns: Interval  # on data that is in memory
    cores_needed: Interval
    cores_free: float  # of this host, beside the step
    is_waiting: bool  # loading waits for disk or network rather than computing
    step_cores: float  # of this host, taken by the step

    @property
    def fits(self) -> bool:
        """Whether this host is enough."""
        return self.cores_needed.value <= self.cores_free

    @property
    def helpers(self) -> int:
        """Further hosts like this one, each with all its cores for the input."""
        per_host = max(1.0, self.cores_free + self.step_cores)
        return max(0, math.ceil((self.cores_needed.value - self.cores_free) / per_host))


def scale_out(view: View) -> ScaleOut | None:
    """What feeding the step takes, or None where loader or step were not measured."""
    loader, step = view.loader, view.frozen
    if loader is None or step is None or view.is_group:
        return None
    work = loader.ns.scaled(loader.busy_cores)
    needed = work.divided_by(step)
    spread = Interval(
        needed.value, needed.low / (1 + SPREAD_ERROR), needed.high * (1 + SPREAD_ERROR)
    )
    # With an accelerator the host's part of a step is one thread that gives orders.
    step_cores = 1.0 if view.accelerators else max(1.0, view.frozen_cores)
    return ScaleOut(
        batch_work_ns=work,
        step_ns=step,
        cores_needed=spread,
        cores_free=max(0.0, view.cpus - step_cores),
        is_waiting=loader.busy_cores < WAITING_CORES,
        step_cores=step_cores,
    )
