"""Reads that wait: which stage of a pipeline waits, and what more reads at a time would save."""

from __future__ import annotations

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import ThreadsForWaits
from fitdoctor.contract.evidence.pipeline import MoreReads
from fitdoctor.findings.place import Where, line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.loading import queue_shutdown_cost, saved_by, saved_by_trial
from fitdoctor.rules.support.places import python_place

# Stages of tf.data that can run several calls at a time.
PARALLEL_STAGES = frozenset({"map", "interleave"})
# Storage may serve several readers more slowly than one.
SHARING_LOSS = 1.25


def is_pool_capped(view: View) -> bool:
    """Whether the stage that waits already asks for parallel calls: its thread pool is the cap."""
    waiting = waiting_stage(view)
    return waiting is not None and waiting.parallel not in (None, 1)


def waiting_stage(view: View) -> StageCost | None:
    """The stage that takes longest, of those that can run several calls at a time."""
    stages = [stage for stage in view.stages if stage.op in PARALLEL_STAGES]
    return max(stages, key=lambda one: (one.own_ns or 0.0, one.python), default=None)


def read_place(view: View) -> Where | None:
    """The stage that reads, or the user's line that waits."""
    # Of a grain dataset only the user's function is known, and the line in it that waits is nearer.
    stages = view.stages if view.input.kind == "tf.data" else ()
    readers = [s for s in stages if s.op in (*PARALLEL_STAGES, "flat_map") and s.file]
    if readers and not any(stage.python for stage in stages):
        return line_of(readers[0])
    return python_place(view)


def saved_in_flight(view: View, loader: Loader, times: float) -> Interval:
    """What `times` as many reads save: as tried on this data, or else as the model says."""
    trial = view.trial(MoreReads)
    if trial is not None:
        return saved_by_trial(view, trial, overlapped=True)
    # An epoch's first batch is one read, which takes as long as before.
    then = view.timed(ThreadsForWaits) or _with_reads(view, loader, times)
    saved = saved_by(view, then, overlapped=True, first_batches=False)
    return saved.minus(queue_shutdown_cost(view))


def _with_reads(view: View, loader: Loader, times: float) -> Interval:
    """Time per batch when the waiting is shared by `times` as many reads."""
    # Reads in flight overlap their waiting, and their work as far as there are cores.
    work = loader.ns.scaled(min(1.0, loader.busy_cores))
    shared = loader.ns.scaled(1.0 / times)
    likely = Interval.maximum(work.scaled(1.0 / view.cpus), shared)
    return Interval(likely.value, likely.low, (work + shared.scaled(SHARING_LOSS)).high)
