from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import (
    BatchInProcess,
    Hdf5ReadCost,
    InputFacts,
    StageFacts,
    ThreadsForWaits,
)
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.contract.places import CallLine
from fitdoctor.findings.edits import DatasetOption, Edit, SetKeyword, WrapArgument
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.serial_reads import RULE
from synthetic import MS, fit_workload, loader, stage, timed, view

MAP = stage("map", 0, inputs=(), file="/user/p.py", line=2, python=True)
POOL = "threading.private_threadpool_size"


def waiting(
    facts: InputFacts,
    *more: object,
    cores: float = 0.05,
    frozen: float = MS,
    draws: bool | None = False,
    backend: str = "tensorflow",
) -> View:
    found = [
        timed(FrozenBatch, frozen),
        loader(30 * MS, cores=cores, user_share=1.0),
        facts,
        *more,
    ]
    if draws is not None:
        native = NativePart(native_ns=0, traced_ns=0, complete=True, random=draws)
        found.append(timed(BatchInProcess, 30 * MS, native=native, pickle_ns=1, payload_bytes=1))
    return view(fit_workload(period=30 * MS, step=MS, wait=29 * MS, found=found), backend=backend)


def pydataset(workers: int, **more: Any) -> InputFacts:
    return InputFacts(kind="PyDataset", workers=workers, file="/user/data.py", line=9, **more)


def pipeline(*stages: StageFacts) -> InputFacts:
    return InputFacts(kind="tf.data", stages=stages or (MAP,))


def fired(seen: View) -> Finding:
    found = RULE.detect(seen)
    assert found is not None
    return found


def edits(facts: InputFacts) -> tuple[Edit, ...]:
    return fired(waiting(facts)).cure.edits


def test_silent_when_the_cpu_is_busy() -> None:
    assert RULE.detect(waiting(pydataset(1), cores=1.0)) is None


def test_silent_when_the_step_hides_the_reads() -> None:
    assert RULE.detect(waiting(pydataset(1), frozen=29.5 * MS)) is None


def test_silent_when_enough_reads_are_in_flight_already() -> None:
    assert RULE.detect(waiting(pydataset(16))) is None


def test_silent_when_the_pool_is_the_cap_which_is_another_cause() -> None:
    assert RULE.detect(waiting(pipeline(replace(MAP, parallel=64)))) is None


def test_silent_when_the_rows_lie_all_over_a_file() -> None:
    scattered = Hdf5ReadCost(ns=29 * MS, contiguous_ns=MS, rows=64, reads_per_batch=1.0)
    assert RULE.detect(waiting(pydataset(1), scattered)) is None


def test_fires_on_one_read_at_a_time() -> None:
    finding = fired(waiting(pydataset(1)))
    # Sixteen threads: a sixteenth of the waiting, and the CPU part as it was.
    assert finding.gain.value == pytest.approx(13, rel=0.15)
    assert "workers=16" in finding.cure.summary
    assert finding.cure.safety == "safe"


def test_threads_that_were_tried_count_for_more_than_the_model() -> None:
    found = fired(waiting(pydataset(1), timed(ThreadsForWaits, 15 * MS, workers=4)))
    assert found.gain.value == pytest.approx(30 / 15, rel=0.1)


@pytest.mark.parametrize(
    ("workers", "facts", "changes"),
    [
        (1, {"draws": True}, "random numbers"),
        (1, {"draws": None}, "random numbers"),  # not seen is not "none"
        (1, {"backend": "jax"}, "one batch later"),
        (1, {"backend": "torch"}, "one batch later"),
    ],
)
def test_threads_that_change_the_order_are_unsafe(
    workers: int, facts: dict[str, Any], changes: str
) -> None:
    cure = fired(waiting(pydataset(workers), **facts)).cure
    assert cure.safety == "unsafe"
    assert changes in cure.summary


def test_workers_that_are_there_already_shift_nothing() -> None:
    assert fired(waiting(pydataset(2), backend="jax")).cure.safety == "safe"


def generator(period: float, load: float, step: float, backend: str = "torch") -> Finding:
    found = (
        timed(FrozenBatch, step),
        loader(load, cores=0.05, user_share=1.0),
        InputFacts(kind="generator", file="/user/data.py", line=9),
    )
    workload = fit_workload(
        period=round(period), step=round(step), wait=round(period - step), found=found
    )
    return fired(view(workload, backend=backend))


def test_a_generator_that_runs_beside_the_step_already_gains_nothing() -> None:
    assert generator(40 * MS, 40 * MS, 24 * MS, backend="tensorflow").partly is None
    assert generator(41 * MS, 40 * MS, 24 * MS, backend="jax").partly is None


def test_a_generator_beside_the_step_is_what_an_edit_can_do() -> None:
    found = generator(64 * MS, 40 * MS, 24 * MS)
    assert found.cure.safety == "advice"
    part = found.partly
    assert part is not None
    assert part.gain.value == pytest.approx(64 / 40, rel=0.05)
    assert part.gain.value < found.gain.value
    (edit,) = part.cure.edits
    assert isinstance(edit, WrapArgument)
    assert "read_ahead" in edit.before


def test_a_loop_of_its_own_is_told_what_reads_several_at_a_time() -> None:
    found = (
        timed(FrozenBatch, MS),
        loader(30 * MS, cores=0.05, user_share=1.0),
        InputFacts(kind="generator", file="/user/data.py", line=9),
    )
    workload = fit_workload(period=30 * MS, step=MS, wait=29 * MS, found=found, kind="loop")
    cure = fired(view(workload)).cure
    assert (cure.safety, cure.edits) == ("advice", ())
    assert "num_parallel_calls=16" in cure.summary


def test_fires_on_a_serial_map_and_names_both_settings() -> None:
    finding = fired(waiting(pipeline()))
    assert finding.where is not None
    assert finding.where.line == 2
    assert "num_parallel_calls=16" in finding.cure.summary
    assert "private_threadpool_size=16" in finding.cure.summary


def test_a_generator_in_a_pipeline_has_no_map_to_parallelise() -> None:
    assert fired(waiting(pipeline(replace(MAP, op="from_generator")))).cure.safety == "advice"


def test_random_maps_in_parallel_are_unsafe() -> None:
    assert fired(waiting(pipeline(replace(MAP, random=True)))).cure.safety == "unsafe"


def test_no_edit_where_the_loader_was_made_unseen() -> None:
    assert edits(pydataset(1)) == ()


def test_no_edit_for_an_interleave_whose_order_would_change() -> None:
    interleave = stage("interleave", 1, inputs=(), file="/user/p.py", line=1)
    assert edits(pipeline(MAP, interleave)) == ()


ROWS = CallLine(call="Rows", file="/user/t.py", line=41)
BASE = CallLine(call="__init__", file="/user/data.py", line=5)


def test_workers_go_where_the_loader_is_made() -> None:
    where = Where("/user/t.py", 41)
    facts = pydataset(1, made=ROWS, base_init=BASE)
    assert edits(facts) == (SetKeyword(where, "Rows", "workers", "16"),)


def test_or_to_its_base_class_where_it_takes_no_options() -> None:
    where = Where("/user/data.py", 5)
    assert edits(pydataset(1, base_init=BASE)) == (SetKeyword(where, "__init__", "workers", "16"),)


def test_a_data_loader_gets_workers_that_stay() -> None:
    where = Where("/user/t.py", 9)
    made = CallLine(call="DataLoader", file="/user/t.py", line=9)
    facts = replace(pydataset(0, made=made), kind="DataLoader")
    assert edits(facts) == (
        SetKeyword(where, "DataLoader", "num_workers", "4", 5),
        SetKeyword(where, "DataLoader", "persistent_workers", "True"),
    )


def test_a_pipeline_gets_parallel_calls_and_a_pool_for_them() -> None:
    where = Where("/user/p.py", 2)
    assert edits(pipeline()) == (
        SetKeyword(where, "map", "num_parallel_calls", "16", 1),
        DatasetOption(where, "map", POOL, "16"),
    )


def test_a_map_with_parallel_calls_keeps_them() -> None:
    first = stage("map", 0, file="/user/p.py", line=3, parallel=-1)
    facts = pipeline(first, replace(MAP, n=1))
    calls = [edit for edit in edits(facts) if isinstance(edit, SetKeyword)]
    assert [edit.where.line for edit in calls] == [2]


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "gain of 10 %" in RULE.page
    assert "fewer than 0.6 cores" in RULE.page
    assert "16 or more in a tf.data pipeline" in RULE.page
