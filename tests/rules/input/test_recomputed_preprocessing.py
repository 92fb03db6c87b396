from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import RecordFiles
from fitdoctor.contract.evidence.pipeline import BatchFirst, Cached, Packed, StageTime
from fitdoctor.findings.edits import AppendCall, ReadPacked
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.recomputed_preprocessing import RULE
from synthetic import MS, slow_pipeline, stage, tried, view

DECODE = (stage("batch", 0), stage("map", 1), stage("from_tensor_slices", 2, inputs=()))
GB = 10**9


def cached(ns: float = 3 * MS, **more: Any) -> Cached:
    facts = {
        "stage": 1,
        "elements": 1000,
        "element_bytes": 100_000,
        "available_bytes": 8 * GB,
        "per_batch": 32.0,
        "keeps_order": True,
        **more,
    }
    return tried(Cached, ns, 30 * MS, **facts)


BIG = cached(element_bytes=5_000_000)


def packed(ns: float = 3 * MS, **more: Any) -> Packed:
    facts = {
        "stage": 1,
        "elements": 1000,
        "element_bytes": 5_000_100,
        "per_batch": 32.0,
        "keeps_order": True,
        "write_ns": 2 * MS,
        "disk_ns": 1 * MS,
        "disk_free_bytes": 100 * GB,
        **more,
    }
    return tried(Packed, ns, 30 * MS, **facts)


def finding(*found: object, detail: dict[str, Any] | None = None, **more: Any) -> Finding | None:
    return RULE.detect(view(slow_pipeline(*DECODE, found=found, detail=detail, **more)))


def fired(*found: object, **more: Any) -> Finding:
    one = finding(*found, **more)
    assert one is not None
    return one


def test_silent_without_a_trial() -> None:
    assert finding() is None


def test_silent_when_the_data_is_read_once() -> None:
    assert finding(cached(), detail={"epochs": 1}) is None


def test_one_epoch_of_a_repeated_pipeline_reads_it_many_times() -> None:
    stages = (stage("repeat", 0), stage("map", 1), stage("range", 2, inputs=()))
    detail = {"epochs": 1, "steps_per_epoch": 500}
    workload = slow_pipeline(*stages, found=[cached()], detail=detail)
    assert RULE.detect(view(workload)) is not None
    once = slow_pipeline(*stages, found=[cached(elements=16_000)], detail=detail)
    assert RULE.detect(view(once)) is None


def test_silent_when_the_step_hides_the_loading() -> None:
    assert finding(cached(), loader_ns=30 * MS, frozen=30 * MS) is None


def test_silent_when_it_does_not_fit_in_half_of_the_free_memory() -> None:
    assert finding(BIG) is None


def test_silent_when_the_disk_is_no_faster_than_making_it_again() -> None:
    found = finding(BIG, packed(disk_ns=40 * MS))
    assert found is None or found.gain.low < 1.01


def test_silent_when_the_overhead_per_element_is_what_it_would_save() -> None:
    first = tried(BatchFirst, 4 * MS, 30 * MS, same=True, stage=1)
    assert finding(cached(), first) is None


def small_files(record_ns: int) -> View:
    """TFRecord files of one record, whose reading the ablation took for work of the map."""
    stages = (stage("map", 0), stage("batch", 1), stage("TFRecordDataset", 2, inputs=()))
    rows = [
        StageTime(n=0, per_batch=1.0, ns=20 * MS, cpu_ns=20 * MS, own_ns=15 * MS, own_cpu_ns=0),
        StageTime(n=2, per_batch=100.0, ns=5 * MS, cpu_ns=5 * MS, own_ns=5 * MS, own_cpu_ns=0),
    ]
    kept = {
        "stage": 0,
        "per_batch": 1.0,
        "element_bytes": 100,
        "elements": 100,
        "keeps_order": True,
    }
    found = (
        tried(Cached, 0.1 * MS, 20 * MS, available_bytes=10**9, **kept),
        RecordFiles(
            files=9,
            records_per_file=1.0,
            record_ns=record_ns,
            packed_record_ns=2_000,
        ),
    )
    return view(slow_pipeline(*stages, loader_ns=20 * MS, rows=rows, found=found))


def test_silent_where_opening_files_takes_the_time() -> None:
    assert RULE.detect(small_files(180_000)) is None


def test_fires_where_the_files_are_quick_to_open() -> None:
    assert RULE.detect(small_files(5_000)) is not None


def test_fires_beside_a_batch_first_trial_that_does_not_help() -> None:
    first = tried(BatchFirst, 28 * MS, 30 * MS, same=True, stage=1)
    assert finding(cached(), first) is not None


def test_the_gain_is_the_timed_cache_beside_the_step() -> None:
    found = fired(cached(3 * MS))
    assert found.gain.value == pytest.approx(10.0, rel=0.05)
    assert found.gain.low < 10.0 < found.gain.high
    assert found.where == Where("/user/data.py", 101)
    assert found.cure.safety == "safe"
    assert "100 MB" in found.message


def test_the_place_is_the_work_that_is_done_again() -> None:
    # What is kept are its batches.
    assert fired(cached(stage=0, work=1)).where == Where("/user/data.py", 101)


def test_the_step_is_the_floor() -> None:
    found = fired(cached(0.1 * MS), frozen=10 * MS)
    assert found.gain.value == pytest.approx(3.0, rel=0.05)


def test_an_unknown_count_is_taken_from_the_steps_of_an_epoch() -> None:
    found = fired(cached(elements=None), detail={"steps_per_epoch": 50})
    assert found.evidence["cache_bytes"] == 50 * 32 * 100_000


@pytest.mark.parametrize("facts", [{"python": True}, {"keeps_order": False}])
def test_python_or_a_shuffling_source_make_it_unsafe(facts: dict[str, Any]) -> None:
    assert fired(cached(**facts)).cure.safety == "unsafe"


def test_the_cache_goes_after_the_stage_that_was_tried() -> None:
    edit = AppendCall(Where("/user/data.py", 101), "map", ".cache()")
    assert fired(cached()).cure.edits == (edit,)


def test_what_fits_in_memory_is_not_packed() -> None:
    assert fired(cached(), packed()).cure.packing is None


def test_what_does_not_fit_is_read_from_disk() -> None:
    found = fired(BIG, packed())
    assert found.gain.value == pytest.approx(10.0, rel=0.05)
    assert found.cure.safety == "safe"
    (edit,) = found.cure.edits
    assert isinstance(edit, ReadPacked)
    assert edit == found.cure.packing
    assert (edit.where, edit.call) == (Where("/user/data.py", 101), "map")
    assert edit.count_bytes == 5_000_100_000
    assert edit.seconds == pytest.approx(2.0)
    assert "5.00 GB of the 8.00 GB that are free" in found.message


def test_the_disk_counts_where_it_is_slower_than_memory() -> None:
    quick, slow = fired(BIG, packed()), fired(BIG, packed(disk_ns=10 * MS))
    assert slow.gain.value == pytest.approx(3.0, rel=0.05)
    assert slow.gain.low < 30 / 13 < slow.gain.high < quick.gain.high + 1


def test_a_disk_without_room_is_advice() -> None:
    found = fired(BIG, packed(disk_free_bytes=4 * GB))
    assert (found.cure.safety, found.cure.edits) == ("advice", ())
    assert "4.00 GB free" in found.cure.summary


@pytest.mark.parametrize("facts", [{"python": True}, {"keeps_order": False}])
def test_a_pack_of_python_or_of_a_shuffling_source_is_unsafe(facts: dict[str, Any]) -> None:
    assert fired(BIG, packed(**facts)).cure.safety == "unsafe"


def of_a_folder(*, shuffles: bool = False) -> Finding:
    """What keras.utils.image_dataset_from_directory makes, at one line of the user's."""
    made = {"file": "/user/data.py", "line": 35, "via": "image_dataset_from_directory"}
    stages = (
        stage("prefetch", 0, **made),
        stage("shuffle" if shuffles else "batch", 1, reorders=shuffles, **made),
        stage("map", 2, **made),
        stage("from_tensor_slices", 3, inputs=(), **made),
    )
    found = RULE.detect(view(slow_pipeline(*stages, found=[cached(stage=2)])))
    assert found is not None
    return found


def test_no_cache_after_a_function_that_shuffles_after_the_stage() -> None:
    # Its order would be that of the first pass for ever.
    assert of_a_folder(shuffles=True).cure.edits == ()


def test_the_cache_goes_after_the_library_function_that_made_the_stages() -> None:
    found = of_a_folder()
    where = Where("/user/data.py", 35)
    assert found.cure.edits == (AppendCall(where, "image_dataset_from_directory", ".cache()"),)
    assert "right after image_dataset_from_directory(…)" in found.cure.summary


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "fits in 50 % of the free memory" in RULE.page
    assert "would not save 70 % or more" in RULE.page
