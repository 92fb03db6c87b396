"""A tf.data pipeline as the probes saw it: what each stage costs, and what each trial gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

# From so many passes on, what each of them begins with is part of the mean.
WHOLE_EPOCHS = 3.0


@dataclass(frozen=True)
class StageCost:
    """One stage, per batch of the whole pipeline; costs are None where it was not timed."""

    number: int
    op: str
    file: str | None
    line: int | None
    python: bool
    random: bool
    reorders: bool
    parallel: int | None
    inputs: tuple[int, ...]
    batch_size: int | None
    buffer_size: int | None
    per_batch: float | None  # elements of this stage in one batch
    ns: float | None  # the pipeline up to here
    own_ns: float | None  # this stage by itself
    own_cpu_ns: float | None
    element_bytes: int | None
    via: str | None = None  # the library's function that made it, where the user called that

    @property
    def work_ns(self) -> float:
        """Wall or CPU time of the stage itself, whichever is more; 0 where not timed."""
        return max(self.own_ns or 0.0, self.own_cpu_ns or 0.0)


@dataclass(frozen=True)
class Trial:
    """The pipeline with one thing changed, beside the pipeline as written."""

    ns: Interval  # per batch
    as_written: Interval
    cores: float
    data: dict[str, Any]
    first_saved_ns: float = 0.0  # of each epoch's first batch, spread over the epoch

    @property
    def left(self) -> Interval:
        """What is left of the loading time: trial over as written."""
        return self.ns.divided_by(self.as_written)


def stage_costs(workload: RecordedWorkload) -> tuple[StageCost, ...]:
    """The stages from the last to the sources; empty for other kinds of input."""
    facts = (workload.result("input") or {}).get("stages", ())
    rows = {int(row["n"]): row for row in (workload.result("stages") or {}).get("rows", ())}
    return tuple(
        _stage(fact, rows.get(int(fact.get("n", number)), {}), number)
        for number, fact in enumerate(facts)
    )


def _stage(fact: dict[str, Any], row: dict[str, Any], number: int) -> StageCost:
    return StageCost(
        number=int(fact.get("n", number)),
        op=str(fact.get("op", "")),
        file=fact.get("file"),
        line=fact.get("line"),
        python=bool(fact.get("python")),
        random=bool(fact.get("random")),
        reorders=bool(fact.get("reorders")),
        parallel=fact.get("parallel"),
        inputs=tuple(int(n) for n in fact.get("inputs", ())),
        batch_size=fact.get("batch_size"),
        buffer_size=fact.get("buffer_size"),
        per_batch=row.get("per_batch"),
        ns=row.get("ns"),
        own_ns=row.get("own_ns"),
        own_cpu_ns=row.get("own_cpu_ns"),
        element_bytes=row.get("element_bytes"),
        via=fact.get("via"),
    )


def trial_of(
    workload: RecordedWorkload, name: str, steps_per_epoch: float | None = None
) -> Trial | None:
    """A trial's result, or None where it was not made.

    The first batch of every epoch comes later than the others (a shuffle buffer fills); its
    time is spread over the epoch, unless so many epochs were read that it is in their mean.
    """
    data = workload.result(name)
    if not data:
        return None
    after, before = from_windows(data.get("ns") or ()), from_windows(data.get("as_written") or ())
    if after is None or before is None:
        return None
    sooner = 0.0
    if steps_per_epoch:
        first, first_before = data.get("first_ns", 0), data.get("as_written_first_ns", 0)
        # A cached pass has no first batch of its own that was timed.
        sooner = max(0.0, first_before - first) / steps_per_epoch if first else 0.0
        read = float(data.get("units") or 0.0)  # batches of the changed one, in as much time
        if read * min(1.0, after.value / before.value) < WHOLE_EPOCHS * steps_per_epoch:
            after += Interval.exact(first / steps_per_epoch)
            before += Interval.exact(first_before / steps_per_epoch)
    return Trial(after, before, float(data.get("own_cores", 0.0)), data, first_saved_ns=sooner)
