"""Ranks of one launch beside each other."""

from __future__ import annotations

import random
from dataclasses import replace

from fitdoctor.analysis.ranks import main_workload, rank_times, with_ranks
from fitdoctor.contract.evidence.ranks import RankTimes
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.report.ranks_text import ranks_text
from synthetic import MS, fit_workload, recording


def rank(before_ms: int, *, period_ms: int = 30, steps: int = 200) -> RecordedWorkload:
    """Steps that end together: who comes later is in the step for less long."""
    inside = period_ms - before_ms
    return fit_workload(
        period=period_ms * MS, step=inside * MS, wait=before_ms * MS, steps=steps, kind="loop"
    )


def scattered(seed: int, steps: int = 200) -> RecordedWorkload:
    base, draw = rank(10, steps=steps), random.Random(seed)
    inside = tuple(round(draw.uniform(15, 25) * MS) for _ in range(steps))
    return replace(base, blocks=(replace(base.blocks[0], step=inside),))


def test_one_rank_is_not_compared() -> None:
    assert rank_times({0: rank(5)}) is None


def test_too_few_common_steps() -> None:
    assert rank_times({0: rank(5), 1: rank(25, steps=20)}) is None


def test_even_ranks_are_not_late() -> None:
    found = rank_times({number: scattered(number) for number in range(4)})
    assert found is not None
    assert found.late_low_ns < 1 * MS
    assert found.late_ns < 2 * MS


def test_the_slowest_rank_and_how_late_it_is() -> None:
    found = rank_times({0: rank(5), 1: rank(25), 2: rank(8)})
    assert found is not None
    assert (found.slowest, len(found.ranks)) == (1, 3)
    assert round(found.late_ns) == 17 * MS  # after the next one, not after the first
    assert found.late_low_ns <= found.late_ns <= found.late_high_ns
    assert found.sync_ns == 20 * MS
    assert [one.wait_ns for one in found.ranks] == [5 * MS, 25 * MS, 8 * MS]


def test_only_steps_that_all_ranks_did_count() -> None:
    found = rank_times({0: rank(5, steps=400), 1: rank(25, steps=100)})
    assert found is not None
    assert found.steps == 94  # the last one has no period, the first five are left out


def test_a_pause_of_the_machine_hides_nothing() -> None:
    """One step of ten seconds beside 200 of 30 ms; on one rank the wait is as long."""
    slow = rank(25)
    times = slow.blocks[0].t
    paused = tuple(t + (10**10 if i > 100 else 0) for i, t in enumerate(times))
    slow = replace(slow, blocks=(replace(slow.blocks[0], t=paused),))
    found = rank_times({0: rank(5), 1: slow})
    assert found is not None
    assert found.steps == 193
    assert round(found.late_low_ns) == 20 * MS


def test_the_training_with_the_most_steps_is_compared() -> None:
    short, long = rank(5, steps=40), rank(5)
    assert main_workload(recording(short, long)) == replace(long, number=2)
    assert main_workload(recording()) is None


def test_a_recording_that_knows_the_others() -> None:
    made = recording(rank(25))
    found = rank_times({0: rank(5), 1: made.workloads[0]})
    assert found is not None
    told = with_ranks(made, made.workloads[0], found)
    assert told.workloads[0].found(RankTimes) == found
    assert made.workloads[0].found(RankTimes) is None


def test_the_table() -> None:
    found = rank_times({0: rank(5), 1: rank(25)})
    assert found is not None
    text = ranks_text(found, 4)
    assert "Rank 1 comes last to its steps, 20.0 ms per step after the next one" in text
    assert "2 have no recording" in text
    even = rank_times({0: scattered(0), 1: scattered(1)})
    assert even is not None
    assert "No rank is certain to come last" in ranks_text(even, 2)
    assert "no recording" not in ranks_text(even, 2)
