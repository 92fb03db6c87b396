"""Recordings of one launch, rank beside rank: which one comes late to the common step.

A step of training on several processes ends when all of them added up their gradients. So the ranks
that come early wait inside their step, and the one that comes late does not.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fitdoctor.analysis.anomalies import STALL_NS, STALL_TIMES
from fitdoctor.analysis.rows import Row, rows_of
from fitdoctor.contract.evidence.ranks import RankTime, RankTimes
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.contract.results import Evidence, recorded_name

# The first steps open files and compile, each rank at its own pace.
LEFT_OUT = 5
FEWEST_STEPS = 30
# Means of so many blocks of steps give the interval: neighbouring steps are not independent.
BLOCKS = 10
CONFIDENCE = 0.9

_Step = tuple[int, int, int]  # call, epoch, number in it


def main_workload(recording: Recording) -> RecordedWorkload | None:
    """The training that took most of the steps."""
    trained = [one for one in recording.workloads if one.blocks and one.kind in ("fit", "loop")]
    return max(trained, key=lambda one: sum(len(block.t) for block in one.blocks), default=None)


def rank_times(workloads: Mapping[int, RecordedWorkload]) -> RankTimes | None:
    """The ranks over the steps that all of them did; None where that are too few."""
    rows = {rank: _by_step(workload) for rank, workload in workloads.items()}
    if len(rows) < 2:
        return None
    common = sorted(set.intersection(*(set(one) for one in rows.values())))[LEFT_OUT:]
    if len(common) < FEWEST_STEPS:
        return None
    stalls = set.union(*map(_stalls, rows.values()))
    common = [step for step in common if step not in stalls]
    if len(common) < FEWEST_STEPS:
        return None
    kept = {rank: [one[step] for step in common] for rank, one in rows.items()}
    times = tuple(_rank_time(rank, kept[rank]) for rank in sorted(kept))
    second, slowest = sorted(times, key=lambda one: one.before_ns)[-2:]
    late = [
        _before(a) - _before(b) for a, b in zip(kept[slowest.rank], kept[second.rank], strict=True)
    ]
    mean, reach = _mean_with_reach(late)
    return RankTimes(
        ranks=times,
        slowest=slowest.rank,
        steps=len(common),
        late_ns=mean,
        late_low_ns=mean - reach,
        late_high_ns=mean + reach,
        sync_ns=max(one.step_ns for one in times) - slowest.step_ns,
    )


def with_ranks(recording: Recording, workload: RecordedWorkload, found: RankTimes) -> Recording:
    """The recording with what is known from the other ranks."""
    by_name = {**workload.evidence.by_name, recorded_name(RankTimes): found}
    told = replace(workload, evidence=Evidence(by_name))
    workloads = (told if one is workload else one for one in recording.workloads)
    return replace(recording, workloads=tuple(workloads))


def _by_step(workload: RecordedWorkload) -> dict[_Step, Row]:
    found: dict[_Step, Row] = {}
    numbers: dict[tuple[int, int], int] = {}
    for row in rows_of(workload):
        place = (row.call, row.epoch)
        number = numbers[place] = numbers.get(place, -1) + 1
        if row.period is not None and not row.compiled:
            found[(*place, number)] = row
    return found


def _stalls(rows: Mapping[_Step, Row]) -> set[_Step]:
    """Single long steps: a pause of the machine, which hits all ranks and is told elsewhere."""
    usual = statistics.median(row.taken for row in rows.values())
    longest = max(STALL_TIMES * usual, STALL_NS)
    return {step for step, row in rows.items() if row.taken > longest}


def _before(row: Row) -> float:
    """All but the step itself, per step."""
    return max(0.0, (row.period or 0) - row.step) / row.executions


def _rank_time(rank: int, rows: Sequence[Row]) -> RankTime:
    waits = [row.wait / row.executions for row in rows if row.wait is not None]
    return RankTime(
        rank=rank,
        steps=len(rows),
        before_ns=statistics.fmean(map(_before, rows)),
        wait_ns=statistics.fmean(waits) if waits else None,
        callbacks_ns=statistics.fmean(row.callbacks / row.executions for row in rows),
        step_ns=statistics.fmean(row.step / row.executions for row in rows),
    )


def _mean_with_reach(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and how far its interval reaches to each side."""
    from scipy import stats

    size = len(values) // BLOCKS
    means = [statistics.fmean(values[i * size : (i + 1) * size]) for i in range(BLOCKS)]
    error = statistics.stdev(means) / BLOCKS**0.5
    return statistics.fmean(values), error * float(stats.t.ppf((1 + CONFIDENCE) / 2, BLOCKS - 1))
