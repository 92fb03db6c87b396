from __future__ import annotations

import pytest

from fitdoctor.findings.edits import DatasetOption, SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.serial_reads import RULE
from fitdoctor.rules.input.thread_pool_cap import RULE as POOL_CAP
from synthetic import MS, fit_workload, loader, view, windows


def waiting(
    input_facts: dict,
    *,
    cores: float = 0.05,
    frozen: float = MS,
    draws: bool | None = False,
    backend: str = "tensorflow",
):
    probes = {
        "frozen_batch": windows(frozen),
        "loader_alone": loader(30 * MS, cores=cores, user_share=1.0),
        "input": input_facts,
    }
    if draws is not None:
        made = {**windows(30 * MS), "native": {"random": draws}, "pickle_ns": 1, "payload_bytes": 1}
        probes["in_process"] = made
    return view(fit_workload(period=30 * MS, step=MS, wait=29 * MS, probes=probes), backend=backend)


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


@pytest.mark.parametrize(
    ("workers", "facts", "changes"),
    [
        (1, {"draws": True}, "random numbers"),
        (1, {"draws": None}, "random numbers"),  # not seen is not "none"
        (1, {"backend": "jax"}, "one batch later"),
        (1, {"backend": "torch"}, "one batch later"),
    ],
)
def test_threads_that_change_the_order_are_unsafe(workers: int, facts: dict, changes: str) -> None:
    cure = RULE.detect(waiting(pydataset(workers), **facts)).cure
    assert cure.safety == "unsafe"
    assert changes in cure.summary


def generator(period: float, load: float, step: float, backend: str = "torch"):
    probes = {
        "frozen_batch": windows(step),
        "loader_alone": loader(load, cores=0.05, user_share=1.0),
        "input": {"kind": "generator", "file": "/user/data.py", "line": 9},
    }
    workload = fit_workload(
        period=round(period), step=round(step), wait=round(period - step), probes=probes
    )
    return RULE.detect(view(workload, backend=backend))


def test_a_generator_beside_the_step_is_what_an_edit_can_do() -> None:
    found = generator(64 * MS, 40 * MS, 24 * MS)
    assert found.cure.safety == "advice"
    part = found.partly
    assert part.gain.value == pytest.approx(64 / 40, rel=0.05)
    assert part.gain.value < found.gain.value
    assert "read_ahead" in part.cure.edits[0].before


def test_a_generator_that_runs_beside_the_step_already_gains_nothing() -> None:
    assert generator(40 * MS, 40 * MS, 24 * MS, backend="tensorflow").partly is None
    assert generator(41 * MS, 40 * MS, 24 * MS, backend="jax").partly is None


def test_workers_that_are_there_already_shift_nothing() -> None:
    assert RULE.detect(waiting(pydataset(2), backend="jax")).cure.safety == "safe"


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


MADE = {"made": {"file": "/user/t.py", "line": 41, "call": "Rows"}}
BASE = {"base_init": {"file": "/user/data.py", "line": 5, "call": "__init__"}}


def edits(rule, facts: dict):
    finding = rule.detect(waiting(facts))
    assert finding is not None
    return finding.cure.edits


def test_no_edit_where_the_loader_was_made_unseen() -> None:
    assert edits(RULE, pydataset(1)) == ()


def test_no_edit_for_an_interleave_whose_order_would_change() -> None:
    facts = pipeline(None)
    facts["stages"].append({"op": "interleave", "file": "/user/p.py", "line": 1})
    assert edits(RULE, facts) == ()


def test_workers_go_where_the_loader_is_made() -> None:
    where = Where("/user/t.py", 41)
    facts = {**pydataset(1), **MADE, **BASE}
    assert edits(RULE, facts) == (SetKeyword(where, "Rows", "workers", "4"),)


def test_or_to_its_base_class_where_it_takes_no_options() -> None:
    where = Where("/user/data.py", 5)
    facts = {**pydataset(1), **BASE}
    assert edits(RULE, facts) == (SetKeyword(where, "__init__", "workers", "4"),)


def test_a_data_loader_gets_workers_that_stay() -> None:
    made = {"made": {"file": "/user/t.py", "line": 9, "call": "DataLoader"}}
    where = Where("/user/t.py", 9)
    assert edits(RULE, {**pydataset(0), "kind": "DataLoader", **made}) == (
        SetKeyword(where, "DataLoader", "num_workers", "4", 5),
        SetKeyword(where, "DataLoader", "persistent_workers", "True"),
    )


def test_a_pipeline_gets_parallel_calls_and_a_pool_for_them() -> None:
    where = Where("/user/p.py", 2)
    pool = "threading.private_threadpool_size"
    assert edits(RULE, pipeline(None)) == (
        SetKeyword(where, "map", "num_parallel_calls", "16", 1),
        DatasetOption(where, "map", pool, "16"),
    )
    assert edits(POOL_CAP, pipeline(64)) == (DatasetOption(where, "map", pool, "64"),)


def test_a_map_with_parallel_calls_keeps_them() -> None:
    facts = pipeline(None)
    facts["stages"].insert(0, {"op": "map", "file": "/user/p.py", "line": 3, "parallel": -1})
    calls = [edit for edit in edits(RULE, facts) if isinstance(edit, SetKeyword)]
    assert [edit.where.line for edit in calls] == [2]


def test_random_maps_in_parallel_are_unsafe() -> None:
    facts = pipeline(None)
    facts["stages"][0]["random"] = True
    finding = RULE.detect(waiting(facts))
    assert finding is not None
    assert finding.cure.safety == "unsafe"
