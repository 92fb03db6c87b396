from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import Hdf5ReadCost, InputFacts, RecordFiles
from fitdoctor.contract.evidence.pipeline import StageTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.findings.edits import ReadAll, ReadPacked
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from fitdoctor.rules.input.scattered_reads import RULE
from synthetic import MS, fit_workload, loader, slow_pipeline, stage, timed, view

RECORDS = (stage("batch", 0), stage("map", 1), stage("TFRecordDatasetV2", 2, inputs=()))
ROWS = (
    StageTime(n=0, per_batch=1.0, ns=30 * MS, cpu_ns=0, own_ns=0, own_cpu_ns=0),
    StageTime(n=2, per_batch=32.0, ns=20 * MS, cpu_ns=0, own_ns=20 * MS, own_cpu_ns=5 * MS),
)


def hdf5(
    read: int, block: int, *, loading: float = 60 * MS, frozen: float = 2 * MS, **more: Any
) -> View:
    facts = {
        "rows": 64,
        "reads_per_batch": 1.0,
        "compression": "gzip",
        "file": "/user/data.py",
        "line": 21,
        **more,
    }
    found = (
        timed(FrozenBatch, frozen),
        loader(loading, user_share=1.0),
        InputFacts(kind="PyDataset", workers=1, file="/user/data.py", line=9),
        Hdf5ReadCost(ns=read, contiguous_ns=block, **facts),
    )
    return view(fit_workload(period=round(loading), step=2 * MS, wait=58 * MS, found=found))


def records(per_file: float, record: int, packed: int, **more: Any) -> View:
    read = RecordFiles(
        files=4000,
        records_per_file=per_file,
        record_ns=record,
        packed_record_ns=packed,
        file="/user/data.py",
        line=102,
        **more,
    )
    return view(slow_pipeline(*RECORDS, rows=ROWS, found=[read]))


def fired(seen: View) -> Finding:
    found = RULE.detect(seen)
    assert found is not None
    return found


def test_silent_without_files() -> None:
    assert RULE.detect(view(slow_pipeline(*RECORDS, rows=ROWS))) is None


def test_silent_when_a_block_takes_as_long() -> None:
    assert RULE.detect(hdf5(55 * MS, 40 * MS)) is None


def test_silent_when_reading_is_a_small_part_of_loading() -> None:
    assert RULE.detect(hdf5(5 * MS, 1 * MS)) is None


def test_silent_when_files_hold_many_records_or_open_quickly() -> None:
    assert RULE.detect(records(500, 600_000, 5_000)) is None
    assert RULE.detect(records(1, 6_000, 5_000)) is None


def test_fires_on_rows_all_over_a_compressed_file() -> None:
    found = fired(hdf5(50 * MS, 1 * MS))
    assert found.gain.value == pytest.approx(60 / 11, rel=0.1)
    assert found.where == Where("/user/data.py", 21)
    assert found.cure.safety == "unsafe"


def test_the_evidence_is_what_was_measured_without_its_places() -> None:
    evidence = fired(hdf5(50 * MS, 1 * MS)).evidence
    assert (evidence["format"], evidence["ns"], evidence["rows"]) == ("HDF5", 50 * MS, 64)
    assert "frozen_step_ns" in evidence
    assert not {"file", "line", "opened_file", "opened_line", "memory_ns"} & set(evidence)


def test_a_rest_that_drowns_in_the_noise_of_the_reads_counts_half() -> None:
    found = fired(hdf5(58 * MS, 4 * MS))
    assert found.gain.value == pytest.approx(60 / 5, rel=0.1)
    assert found.gain.contains(60 / 4)
    assert found.gain.contains(60 / 6)


def test_what_is_left_is_no_less_than_one_block() -> None:
    # The reads alone took longer than the loader that makes them: noise, not a free block.
    found = fired(hdf5(66 * MS, 10 * MS))
    # 60 ms of loading become a block of 10 ms beside a step of 2 ms, not 4 ms.
    assert found.gain.value == pytest.approx(60 / 12, rel=0.2)
    assert found.gain.value < 60 / 9


MEMORY = {
    "dataset": "/images",
    "memory_ns": 50_000,
    "bytes": 64 * 10**6,
    "bytes_per_row": 10_000,
    "fits": True,
    "opened_file": "/user/data.py",
    "opened_line": 12,
}


@pytest.mark.parametrize("less", [{"fits": False}, {"opened_file": None}, {"memory_ns": None}])
def test_an_array_is_not_read_into_memory_where_that_is_not_certain(less: dict[str, Any]) -> None:
    assert fired(hdf5(55 * MS, 2 * MS)).partly is None
    assert fired(hdf5(55 * MS, 2 * MS, **{**MEMORY, **less})).partly is None


def test_an_array_that_fits_is_read_where_it_is_opened() -> None:
    found = fired(hdf5(55 * MS, 2 * MS, **MEMORY))
    part = found.partly
    assert part is not None
    assert part.cure.edits == (ReadAll(Where("/user/data.py", 12), "/images"),)
    assert part.cure.safety == "unsafe"
    # A hundred blocks of 64 rows, 2 ms each.
    assert "64.0 MB, about 200 ms at the start" in part.cure.summary
    assert part.gain.value > found.gain.value


def test_fires_on_a_file_per_record() -> None:
    found = fired(records(1, 600_000, 20_000))
    assert found.gain.value == pytest.approx(30 / (30 - 32 * 0.58), rel=0.1)
    assert found.cure.safety == "safe"


def test_without_the_size_of_a_record_there_is_no_edit() -> None:
    assert fired(records(1, 600_000, 20_000)).cure.edits == ()


@pytest.mark.parametrize(("keeps_order", "safety"), [(True, "safe"), (False, "unsafe")])
def test_the_edit_stores_the_records_where_they_are_read(keeps_order: bool, safety: str) -> None:
    found = fired(records(1, 600_000, 20_000, record_bytes=984, keeps_order=keeps_order))
    assert found.cure.safety == safety
    (edit,) = found.cure.edits
    assert isinstance(edit, ReadPacked)
    assert (edit.where.line, edit.call) == (102, "TFRecordDataset")
    assert edit.count_bytes == 4_000_000
    assert edit.seconds == pytest.approx(2.4)
    assert "4.00 MB on disk, written once in about 2.40 s" in found.cure.summary


def test_python_is_not_blamed_for_what_the_file_costs() -> None:
    assert PYTHON_BOUND.detect(hdf5(57 * MS, 1 * MS)) is None
    assert PYTHON_BOUND.detect(hdf5(5 * MS, 1 * MS)) is not None


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "fewer than 20 records each" in RULE.page
    assert "33.3 % of that or less" in RULE.page
