from __future__ import annotations

import pytest

from benchmarks.pipeline_plan import plan_for
from fitdoctor.contract.evidence.pipeline import (
    Cached,
    EarlyShuffle,
    MoreReads,
    OnePass,
    StageTime,
)
from synthetic import MS, slow_pipeline, stage, tried, view


def row(n: int, own: float, cpu: float, per_batch: float = 1.0) -> StageTime:
    return StageTime(
        n=n,
        per_batch=per_batch,
        ns=round(own),
        cpu_ns=round(cpu),
        own_ns=round(own),
        own_cpu_ns=round(cpu),
        element_bytes=100,
    )


def remote_reads(*found):
    """A map that waits 4 ms for each of 32 elements; CPU time inflated by reading it in Python."""
    stages = (stage("batch", 0), stage("map", 1, python=True), stage("range", 2, inputs=()))
    rows = [row(0, 0.0, 0.0), row(1, 140 * MS, 40 * MS, 32.0), row(2, 0.1 * MS, 0.0, 32.0)]
    return view(
        slow_pipeline(*stages, loader_ns=140 * MS, frozen=MS, cores=0.1, rows=rows, found=found)
    )


def test_nothing_to_plan_without_timed_stages() -> None:
    assert plan_for(view(slow_pipeline(stage("batch", 0)))) is None


def test_the_cpu_time_of_the_whole_counts() -> None:
    plan = plan_for(remote_reads())
    assert plan is not None
    # 14 ms of CPU time under Python's lock, not 40.
    assert plan.step_ns == pytest.approx(14 * MS, rel=0.05)
    assert dict(plan.calls)[1] in (10, 11)


def test_what_was_tried_is_taken() -> None:
    reads = tried(MoreReads, 9 * MS, 140 * MS, reads=16)
    plan = plan_for(remote_reads(reads))
    assert plan is not None
    assert (dict(plan.calls), plan.pool) == ({1: 16}, 16)
    assert plan.step_ns == pytest.approx(9 * MS, rel=0.05)


def test_a_trial_that_is_no_better_changes_nothing() -> None:
    reads = tried(MoreReads, 60 * MS, 140 * MS, reads=16)
    assert plan_for(remote_reads(reads)) == plan_for(remote_reads())


def test_a_busy_loader_is_not_scaled() -> None:
    stages = (stage("batch", 0), stage("map", 1, parallel=2), stage("range", 2, inputs=()))
    rows = [row(0, 0.0, 0.0), row(1, 30 * MS, 60 * MS, 32.0), row(2, 0.1 * MS, 0.0, 32.0)]
    workload = slow_pipeline(*stages, loader_ns=30 * MS, cores=2.0, rows=rows)
    plan = plan_for(view(workload))
    assert plan is not None
    # 60 ms of work and 2 ms of step on two cores.
    assert plan.step_ns == pytest.approx(31 * MS, rel=0.05)


def cached(ns: float, element_bytes: int = 100) -> Cached:
    return tried(
        Cached,
        ns,
        140 * MS,
        stage=1,
        per_batch=32.0,
        element_bytes=element_bytes,
        available_bytes=10**9,
    )


def test_a_cache_that_was_tried_is_taken_instead_of_the_reads() -> None:
    reads = tried(MoreReads, 9 * MS, 140 * MS, reads=16)
    plan = plan_for(remote_reads(reads, cached(0.3 * MS)))
    assert plan is not None
    assert (plan.cache_after, plan.calls, plan.pool) == (1, (), None)
    assert plan.binding == "the step itself"


def test_a_cache_that_does_not_fit_is_not() -> None:
    plan = plan_for(remote_reads(cached(0.3 * MS, element_bytes=10**6)))
    assert plan is not None
    assert plan.cache_after is None


def test_a_cache_and_an_early_shuffle_exclude_each_other() -> None:
    early = EarlyShuffle(
        stage=0,
        changed=OnePass(first_ns=0, ns=1, batches=1),
        as_written=OnePass(first_ns=0, ns=2, batches=1),
    )
    plan = plan_for(remote_reads(cached(0.3 * MS), early))
    assert plan is not None
    assert (plan.cache_after, plan.shuffle_first) == (1, False)
