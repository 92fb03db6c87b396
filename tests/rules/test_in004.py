from __future__ import annotations

import pytest

from fitdoctor.findings.edits import AppendCall
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.recomputed_preprocessing import RULE
from synthetic import MS, slow_pipeline, stage, trial, view

DECODE = (stage("batch", 0), stage("map", 1), stage("from_tensor_slices", 2, inputs=[]))
GB = 10**9


def cached(ns: float = 3 * MS, *, loader: float = 30 * MS, **more):
    facts = {
        "stage": 1,
        "elements": 1000,
        "element_bytes": 100_000,
        "available_bytes": 8 * GB,
        "per_batch": 32.0,
        "keeps_order": True,
        "python": False,
        **more,
    }
    return trial(ns, loader, **facts)


def finding(probes: dict, detail: dict | None = None, **more):
    return RULE.detect(view(slow_pipeline(*DECODE, probes=probes, detail=detail, **more)))


def test_silent_without_a_trial() -> None:
    assert finding({}) is None


def test_silent_when_the_data_is_read_once() -> None:
    assert finding({"trial_cache": cached()}, {"epochs": 1}) is None


def test_one_epoch_of_a_repeated_pipeline_reads_it_many_times() -> None:
    stages = (stage("repeat", 0), stage("map", 1), stage("range", 2, inputs=[]))
    detail = {"epochs": 1, "steps_per_epoch": 500}
    workload = slow_pipeline(*stages, probes={"trial_cache": cached()}, detail=detail)
    assert RULE.detect(view(workload)) is not None
    once = slow_pipeline(*stages, probes={"trial_cache": cached(elements=16_000)}, detail=detail)
    assert RULE.detect(view(once)) is None


def test_silent_when_the_step_hides_the_loading() -> None:
    assert finding({"trial_cache": cached()}, loader_ns=30 * MS, frozen=30 * MS) is None


BIG = cached(element_bytes=5_000_000, available_bytes=8 * GB)


def packed(ns: float = 3 * MS, **more):
    facts = {
        "stage": 1,
        "elements": 1000,
        "element_bytes": 5_000_100,
        "per_batch": 32.0,
        "keeps_order": True,
        "python": False,
        "write_ns": 2 * MS,
        "disk_ns": 1 * MS,
        "disk_free_bytes": 100 * GB,
        **more,
    }
    return trial(ns, 30 * MS, **facts)


def test_silent_when_it_does_not_fit_in_half_of_the_free_memory() -> None:
    assert finding({"trial_cache": BIG}) is None


def test_silent_when_the_disk_is_no_faster_than_making_it_again() -> None:
    found = finding({"trial_cache": BIG, "trial_packed": packed(disk_ns=40 * MS)})
    assert found is None or found.gain.low < 1.01


def test_what_fits_in_memory_is_not_packed() -> None:
    found = finding({"trial_cache": cached(), "trial_packed": packed()})
    assert found is not None
    assert found.cure.packing is None


def test_what_does_not_fit_is_read_from_disk() -> None:
    found = finding({"trial_cache": BIG, "trial_packed": packed()})
    assert found is not None
    assert found.gain.value == pytest.approx(10.0, rel=0.05)
    assert found.cure.safety == "safe"
    (edit,) = found.cure.edits
    assert edit == found.cure.packing
    assert (edit.where, edit.call) == (Where("/user/data.py", 101), "map")
    assert edit.count_bytes == 5_000_100_000
    assert edit.seconds == pytest.approx(2.0)
    assert "5.00 GB of the 8.00 GB that are free" in found.message


def test_the_disk_counts_where_it_is_slower_than_memory() -> None:
    quick = finding({"trial_cache": BIG, "trial_packed": packed()})
    slow = finding({"trial_cache": BIG, "trial_packed": packed(disk_ns=10 * MS)})
    assert quick is not None
    assert slow is not None
    assert slow.gain.value == pytest.approx(3.0, rel=0.05)
    assert slow.gain.low < 30 / 13 < slow.gain.high < quick.gain.high + 1


def test_a_disk_without_room_is_advice() -> None:
    found = finding({"trial_cache": BIG, "trial_packed": packed(disk_free_bytes=4 * GB)})
    assert found is not None
    assert (found.cure.safety, found.cure.edits) == ("advice", ())
    assert "4.00 GB free" in found.cure.summary


@pytest.mark.parametrize("facts", [{"python": True}, {"keeps_order": False}])
def test_a_pack_of_python_or_of_a_shuffling_source_is_unsafe(facts: dict) -> None:
    found = finding({"trial_cache": BIG, "trial_packed": packed(**facts)})
    assert found is not None
    assert found.cure.safety == "unsafe"


def test_silent_when_the_overhead_per_element_is_what_it_would_save() -> None:
    first = trial(4 * MS, 30 * MS, same=True, stage=1)
    assert finding({"trial_cache": cached(), "trial_batch_first": first}) is None


def test_fires_beside_a_batch_first_trial_that_does_not_help() -> None:
    first = trial(28 * MS, 30 * MS, same=True, stage=1)
    assert finding({"trial_cache": cached(), "trial_batch_first": first}) is not None


def test_the_gain_is_the_timed_cache_beside_the_step() -> None:
    found = finding({"trial_cache": cached(3 * MS)})
    assert found is not None
    assert found.gain.value == pytest.approx(10.0, rel=0.05)
    assert found.gain.low < 10.0 < found.gain.high
    assert (found.where.file, found.where.line) == ("/user/data.py", 101)
    assert found.cure.safety == "safe"
    assert "100 MB" in found.message


def test_the_step_is_the_floor() -> None:
    found = finding({"trial_cache": cached(0.1 * MS)}, frozen=10 * MS)
    assert found is not None
    assert found.gain.value == pytest.approx(3.0, rel=0.05)


def test_an_unknown_count_is_taken_from_the_steps_of_an_epoch() -> None:
    found = finding({"trial_cache": cached(elements=None)}, {"steps_per_epoch": 50})
    assert found is not None
    assert found.evidence["cache_bytes"] == 50 * 32 * 100_000


@pytest.mark.parametrize("facts", [{"python": True}, {"keeps_order": False}])
def test_python_or_a_shuffling_source_make_it_unsafe(facts: dict) -> None:
    found = finding({"trial_cache": cached(**facts)})
    assert found is not None
    assert found.cure.safety == "unsafe"


def test_the_cache_goes_behind_the_stage_that_was_tried() -> None:
    found = finding({"trial_cache": cached()})
    assert found is not None
    assert found.cure.edits == (AppendCall(Where("/user/data.py", 101), "map", ".cache()"),)


def of_a_folder(*, shuffles: bool = False):
    """What keras.utils.image_dataset_from_directory makes, at one line of the user's."""
    made = {"file": "/user/data.py", "line": 35, "via": "image_dataset_from_directory"}
    stages = (
        stage("prefetch", 0, **made),
        stage("shuffle" if shuffles else "batch", 1, reorders=shuffles, **made),
        stage("map", 2, **made),
        stage("from_tensor_slices", 3, inputs=[], **made),
    )
    workload = slow_pipeline(*stages, probes={"trial_cache": cached(stage=2)})
    found = RULE.detect(view(workload))
    assert found is not None
    return found


def test_the_cache_goes_behind_the_library_function_that_made_the_stages() -> None:
    found = of_a_folder()
    where = Where("/user/data.py", 35)
    assert found.cure.edits == (AppendCall(where, "image_dataset_from_directory", ".cache()"),)
    assert "right after image_dataset_from_directory(…)" in found.cure.summary


def test_no_cache_behind_a_function_that_shuffles_after_the_stage() -> None:
    # Its order would be that of the first pass for ever.
    assert of_a_folder(shuffles=True).cure.edits == ()


def small_files(record_ns: float):
    """TFRecord files of one record, whose reading the ablation took for work of the map."""
    stages = (stage("map", 0), stage("batch", 1), stage("TFRecordDataset", 2, inputs=[]))
    rows = [
        {"n": 0, "per_batch": 1.0, "ns": 20 * MS, "cpu_ns": 20 * MS, "own_ns": 15 * MS},
        {"n": 2, "per_batch": 100.0, "ns": 5 * MS, "cpu_ns": 5 * MS, "own_ns": 5 * MS},
    ]
    cache = {**trial(0.1 * MS, 20 * MS), "stage": 0, "per_batch": 1.0, "element_bytes": 100}
    files = {"record_ns": record_ns, "packed_record_ns": 2_000, "records_per_file": 1.0, "files": 9}
    return view(
        slow_pipeline(
            *stages,
            loader_ns=20 * MS,
            rows=rows,
            probes={
                "trial_cache": {**cache, "available_bytes": 10**9, "elements": 100},
                "record_files": files,
            },
        )
    )


def test_silent_where_opening_files_takes_the_time() -> None:
    assert RULE.detect(small_files(180_000)) is None


def test_fires_where_the_files_are_quick_to_open() -> None:
    assert RULE.detect(small_files(5_000)) is not None
