"""What differs over time: a slow first epoch, single long steps, and why."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass

from fitdoctor.analysis.rows import Row, by_epoch, rows_of
from fitdoctor.contract.records import RecordedWorkload

# A first epoch this much longer than the later ones is worth a line.
SLOW_FIRST = 1.3
MIN_EPOCHS = 3
# A stall: a step that takes this many times the usual, and this long at least.
STALL_TIMES = 5.0
STALL_NS = 50_000_000
MOSTLY = 0.6
OTHERS_CORES = 0.3


@dataclass(frozen=True)
class FirstEpoch:
    """How much longer the first epoch took, and on what."""

    ns: float
    usual_ns: float
    compile_ns: float
    first_batch_ns: float  # waiting for the first batch: shuffle buffers, opening files
    input_ns: float  # waiting for the others: caches that are filled, cold files
    rest_ns: float

    def to_json(self) -> dict[str, int]:
        return {name: round(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Stalls:
    """Long steps by their cause."""

    count: int
    ns: float
    causes: dict[str, int]

    def to_json(self) -> dict[str, object]:
        return {"count": self.count, "ns": round(self.ns), "causes": self.causes}


@dataclass(frozen=True)
class IteratorWaits:
    """TensorFlow's waits for the tuning thread of a pipeline that it lets go, between epochs.

    They are random, last up to the thread's timer (which doubles while an epoch runs),
    and are no cost of the script: no step and no gain counts them.
    """

    count: int
    ns: float

    def to_json(self) -> dict[str, int]:
        return {"count": self.count, "ns": round(self.ns)}


def iterator_waits(workload: RecordedWorkload) -> IteratorWaits:
    """All such waits of a workload."""
    waits = [event.dur for event in workload.events if event.name == "iterator_wait"]
    return IteratorWaits(len(waits), float(sum(waits)))


def first_epoch(workload: RecordedWorkload) -> FirstEpoch | None:
    """The first epoch against the later ones; None where it was not slower, or nobody can say."""
    epochs = by_epoch(rows_of(workload))
    if len(epochs) < MIN_EPOCHS:
        return None
    (_, first), *later = sorted(epochs.items())
    usual_rows = [rows for _, rows in later if len(rows) == len(first)]
    if len(usual_rows) < MIN_EPOCHS - 1:
        return None
    took = _time(first)
    usual = statistics.median(_time(rows) for rows in usual_rows)
    if took < SLOW_FIRST * usual:
        return None
    extra = took - usual
    plain = [row.step for row in first if not row.compiled]
    step = statistics.median(plain) if plain else 0.0
    compiling = min(extra, sum(max(0.0, row.step - step) for row in first if row.compiled))
    usual_first = statistics.median((rows[0].wait or 0.0) for rows in usual_rows)
    start = min(extra - compiling, max(0.0, (first[0].wait or 0.0) - usual_first))
    waits = statistics.median(_wait(rows[1:]) for rows in usual_rows)
    loading = min(extra - compiling - start, max(0.0, _wait(first[1:]) - waits))
    return FirstEpoch(took, usual, compiling, start, loading, extra - compiling - start - loading)


def _time(rows: list[Row]) -> float:
    return sum(row.taken for row in rows)


def _wait(rows: list[Row]) -> float:
    return sum(row.wait or 0.0 for row in rows)


def stalls(workload: RecordedWorkload) -> Stalls | None:
    """Single steps that took far longer than the others, after the first ones."""
    if workload.kind == "loop" and workload.detail.backend == "jax":
        return None  # steps are only enqueued; the wait for all of them is where one is read
    rows = [row for row in rows_of(workload) if row.period is not None][3:]
    if len(rows) < 20:
        return None
    usual = statistics.median((row.period or 0) / row.executions for row in rows)
    limit = max(STALL_TIMES * usual, STALL_NS)
    long = [row for row in rows if (row.period or 0) / row.executions >= limit]
    if not long:
        return None
    lost = sum((row.period or 0) - usual * row.executions for row in long)
    return Stalls(len(long), lost, dict(Counter(_cause(row) for row in long)))


def _cause(row: Row) -> str:
    period = row.period or 0
    if row.compiled:
        return "compile"
    if (row.wait or 0.0) >= MOSTLY * period:
        return "input"
    if row.callbacks >= MOSTLY * period:
        return "callbacks"
    if (row.others_cores or 0.0) >= OTHERS_CORES:
        return "other processes"
    return "unknown"
