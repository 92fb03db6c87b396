from __future__ import annotations

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.pipeline import MoreReads
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.findings.edits import DatasetOption
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.serial_reads import RULE as SERIAL_READS
from fitdoctor.rules.input.thread_pool_cap import RULE
from synthetic import MS, fit_workload, loader, stage, timed, tried, view


def waiting(
    parallel: int | None, *more: object, cores: float = 0.05, frozen: float = MS, cpus: int = 2
) -> View:
    one = stage("map", 0, inputs=(), file="/user/p.py", line=2, python=True, parallel=parallel)
    found = (
        timed(FrozenBatch, frozen),
        loader(30 * MS, cores=cores, user_share=1.0),
        InputFacts(kind="tf.data", stages=(one,)),
        *more,
    )
    return view(fit_workload(period=30 * MS, step=MS, wait=29 * MS, found=found), cpus=cpus)


def test_silent_without_parallel_calls_or_with_a_busy_cpu() -> None:
    assert RULE.detect(waiting(None)) is None
    assert RULE.detect(waiting(1)) is None
    assert RULE.detect(waiting(64, cores=1.5)) is None


def test_silent_when_the_step_hides_the_reads() -> None:
    assert RULE.detect(waiting(64, frozen=29.5 * MS)) is None


def test_silent_where_no_more_calls_are_asked_for_than_there_are_cores() -> None:
    assert RULE.detect(waiting(4, cpus=8)) is None


def test_fires_on_parallel_calls_that_wait() -> None:
    finding = RULE.detect(waiting(64))
    assert finding is not None
    assert finding.cure.summary.startswith("options.threading.private_threadpool_size=64")
    assert "num_parallel_calls" not in finding.cure.summary
    assert (finding.where, finding.cure.safety) == (Where("/user/p.py", 2), "safe")
    assert SERIAL_READS.detect(waiting(64)) is None


def test_autotune_asks_for_as_many_as_help() -> None:
    finding = RULE.detect(waiting(-1))
    assert finding is not None
    assert finding.evidence["pool_threads_after"] == 16


def test_the_gain_is_that_of_the_pipeline_with_more_reads() -> None:
    finding = RULE.detect(waiting(64, tried(MoreReads, 10 * MS, 30 * MS, reads=64)))
    assert finding is not None
    assert finding.gain.value == pytest.approx(3.0, rel=0.1)


def test_the_pool_is_given_at_the_stage_that_waits() -> None:
    finding = RULE.detect(waiting(64))
    assert finding is not None
    pool = "threading.private_threadpool_size"
    assert finding.cure.edits == (DatasetOption(Where("/user/p.py", 2), "map", pool, "64"),)


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "fewer than 0.6 cores" in RULE.page
