from __future__ import annotations

import pytest

from fitdoctor.rules.in002 import RULE
from fitdoctor.rules.in003 import RULE as POOL_CAP
from synthetic import MS, fit_workload, loader, view, windows


def waiting(input_facts: dict, *, cores: float = 0.05, frozen: float = MS):
    probes = {
        "frozen_batch": windows(frozen),
        "loader_alone": loader(30 * MS, cores=cores, user_share=1.0),
        "input": input_facts,
    }
    return view(fit_workload(period=30 * MS, step=MS, wait=29 * MS, probes=probes))


def pydataset(workers: int) -> dict:
    return {"kind": "PyDataset", "workers": workers, "file": "/user/data.py", "line": 9}


def pipeline(parallel: int | None) -> dict:
    op = "map"
    stage = {"op": op, "file": "/user/p.py", "line": 2, "python": True, "parallel": parallel}
    return {"kind": "tf.data", "stages": [stage]}


def test_silent_when_the_cpu_is_busy() -> None:
    assert RULE.detect(waiting(pydataset(1), cores=1.0)) is None


def test_silent_when_the_step_hides_the_reads() -> None:
    assert RULE.detect(waiting(pydataset(1), frozen=29.5 * MS)) is None


def test_silent_when_enough_reads_are_in_flight_already() -> None:
    assert RULE.detect(waiting(pydataset(8))) is None


def test_silent_when_the_pool_is_the_cap_which_is_another_cause() -> None:
    assert RULE.detect(waiting(pipeline(64))) is None


def test_fires_on_one_read_at_a_time() -> None:
    finding = RULE.detect(waiting(pydataset(1)))
    assert finding is not None
    # Four threads on two cores: a quarter of the waiting, and the CPU part as it was.
    assert finding.gain.value == pytest.approx(3.5, rel=0.15)
    assert "workers=4" in finding.cure.summary
    assert finding.cure.safety == "safe"


def test_fires_on_a_serial_map_and_names_both_settings() -> None:
    finding = RULE.detect(waiting(pipeline(None)))
    assert finding is not None
    assert finding.where.line == 2
    assert "num_parallel_calls=16" in finding.cure.summary
    assert "private_threadpool_size=16" in finding.cure.summary


def test_a_generator_in_a_pipeline_has_no_map_to_parallelise() -> None:
    stage = {"op": "from_generator", "file": "/user/p.py", "line": 2, "python": True}
    finding = RULE.detect(waiting({"kind": "tf.data", "stages": [stage]}))
    assert finding is not None
    assert finding.cure.safety == "advice"


def test_the_pool_cap_is_silent_without_parallel_calls_or_with_a_busy_cpu() -> None:
    assert POOL_CAP.detect(waiting(pipeline(None))) is None
    assert POOL_CAP.detect(waiting(pipeline(64), cores=1.5)) is None


def test_the_pool_cap_fires_on_parallel_calls_that_wait() -> None:
    finding = POOL_CAP.detect(waiting(pipeline(64)))
    assert finding is not None
    assert finding.cure.summary.startswith("options.threading.private_threadpool_size=64")
    assert "num_parallel_calls" not in finding.cure.summary
