"""A tf.data pipeline as the probes saw it: what each stage costs, and what each trial gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.contract.evidence.loading import InputFacts, StageFacts
from fitdoctor.contract.evidence.pipeline import ChangedPipeline, StageTime, StageTimes
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

# From so many passes on, what each of them begins with is part of the mean.
WHOLE_EPOCHS = 3.0

Changed = TypeVar("Changed", bound=ChangedPipeline)


@dataclass(frozen=True)
class StageCost(StageFacts):
    """One stage, per batch of the whole pipeline; costs are None where it was not timed."""

    per_batch: float | None = None  # elements of this stage in one batch
    ns: float | None = None  # the pipeline up to here
    own_ns: float | None = None  # this stage by itself
    own_cpu_ns: float | None = None
    element_bytes: int | None = None

    @property
    def work_ns(self) -> float:
        """Wall or CPU time of the stage itself, whichever is more; 0 where not timed."""
        return max(self.own_ns or 0.0, self.own_cpu_ns or 0.0)


@dataclass(frozen=True)
class Trial(Generic[Changed]):
    """The pipeline with one thing changed, beside the pipeline as written."""

    ns: Interval  # per batch
    as_written: Interval
    cores: float
    found: Changed
    first_saved_ns: float = 0.0  # of each epoch's first batch, spread over the epoch

    @property
    def left(self) -> Interval:
        """What is left of the loading time: trial over as written."""
        return self.ns.divided_by(self.as_written)


def stage_costs(workload: RecordedWorkload) -> tuple[StageCost, ...]:
    """The stages from the last to the sources; empty for other kinds of input."""
    facts, times = workload.found(InputFacts), workload.found(StageTimes)
    rows = {row.n: row for row in times.rows} if times is not None else {}
    return tuple(_stage(one, rows.get(one.n)) for one in (facts.stages if facts else ()))


def _stage(fact: StageFacts, row: StageTime | None) -> StageCost:
    if row is None:
        return StageCost(**vars(fact))
    return StageCost(
        **vars(fact),
        per_batch=row.per_batch,
        ns=row.ns,
        own_ns=row.own_ns,
        own_cpu_ns=row.own_cpu_ns,
        element_bytes=row.element_bytes,
    )


def trial_of(
    workload: RecordedWorkload, kind: type[Changed], steps_per_epoch: float | None = None
) -> Trial[Changed] | None:
    """A trial's result, or None where it was not made.

    The first batch of every epoch comes later than the others (a shuffle buffer fills); its
    time is spread over the epoch, unless so many epochs were read that it is in their mean.
    """
    found = workload.found(kind)
    return None if found is None else trial_from(found, steps_per_epoch)


def trial_from(found: Changed, steps_per_epoch: float | None = None) -> Trial[Changed] | None:
    """A result as a trial; None where nothing was timed."""
    after, before = from_windows(found.ns), from_windows(found.as_written)
    if after is None or before is None:
        return None
    sooner = 0.0
    if steps_per_epoch:
        first, first_before = found.first_ns, found.as_written_first_ns
        # A cached pass has no first batch of its own that was timed.
        sooner = max(0.0, first_before - first) / steps_per_epoch if first else 0.0
        # Batches of the changed one, in as much time.
        read = found.units * min(1.0, after.value / before.value) if before.value else 0.0
        if read < WHOLE_EPOCHS * steps_per_epoch:
            after += Interval.exact(first / steps_per_epoch)
            before += Interval.exact(first_before / steps_per_epoch)
    return Trial(after, before, found.own_cores, found, first_saved_ns=sooner)
