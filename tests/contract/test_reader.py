from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import WorkloadDetail
from fitdoctor.diagnosis import diagnose

HEADER = {"k": "header", "format": "fitdoctor-recording", "schema": 1, "fitdoctor": "0.1.0"}
WORKLOAD = {
    "k": "workload", "w": 1, "kind": "fit", "file": "/u/t.py", "line": 3, "t": 0, "parent": None,
    "detail": {},
}  # fmt: skip
STEPS = {
    "k": "steps", "w": 1, "c": 0, "e": 0, "n": 1, "t": [0, 10], "step": [9, 9],
    "wait": [None, None], "callbacks": [0, 0], "others": 0.0,
}  # fmt: skip


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "a.rec"
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x) + "\n") for x in lines))
    return path


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "not a fitdoctor recording"),
        (["hello\n"], "not a fitdoctor recording"),
        (["\x00\xff binary \x00\n"], "not a fitdoctor recording"),
        (["[1, 2]\n"], "not a fitdoctor recording"),
        ([{"format": "something-else", "schema": 1}], "not a fitdoctor recording"),
        ([{**HEADER, "schema": 99}], "newer fitdoctor"),
        ([{**HEADER, "schema": "one"}], "no valid schema"),
        ([{**HEADER, "schema": 0}], "no valid schema"),
    ],
)
def test_what_is_not_ours_is_refused_in_one_line(
    tmp_path: Path, lines: list[object], words: str
) -> None:
    with pytest.raises(RecordingError) as error:
        read_recording(written(tmp_path, *lines))
    assert words in error.value.message
    assert error.value.advice


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.rec", tmp_path):
        with pytest.raises(RecordingError, match="cannot be read"):
            read_recording(path)


def test_a_torn_last_line_is_forgiven_and_counted(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, HEADER, WORKLOAD, STEPS, '{"k":"steps","w":1,'))
    assert recording.broken_lines == 1
    assert len(recording.workloads[0].blocks) == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"k": "steps", "w": 1},
        {**STEPS, "step": [9]},
        {"k": "steps", "w": 77, "t": []},
        {"k": "event", "w": 1, "name": "trace"},
        {"k": "calls", "w": 1, "t": [1, 2], "dur": [1]},
        {"k": "probe", "w": 1, "name": "x", "status": "ok", "data": 7},
        {"k": "callbacks", "w": 1, "items": [{"name": "x"}]},
        {"k": 5},
    ],
)
def test_a_broken_record_is_counted_and_the_rest_is_read(tmp_path: Path, broken: object) -> None:
    recording = read_recording(written(tmp_path, HEADER, WORKLOAD, broken, STEPS))
    assert recording.broken_lines == 1
    assert len(recording.workloads[0].blocks) == 1
    diagnose(recording)


def test_unknown_kinds_are_for_later_versions(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, HEADER, {"k": "future", "x": 1}))
    assert recording.broken_lines == 0


def test_a_later_row_of_the_same_call_replaces_the_open_one(tmp_path: Path) -> None:
    row = {
        "t": 5, "dur": 10, "steps": 1, "start_up": 1, "validation": 0, "epoch_callbacks": 0,
        "batch_callbacks": 0, "step": 9, "wait": None, "epochs": 1,
    }  # fmt: skip
    open_call = {"k": "open_call", "w": 1, **row}
    ended = {"k": "calls", "w": 1, **{name: [value] for name, value in row.items()}, "dur": [99]}
    calls = read_recording(written(tmp_path, HEADER, WORKLOAD, open_call, ended)).workloads[0].calls
    assert [call.dur for call in calls] == [99]


def test_a_recording_that_stops_anywhere_is_readable(tmp_path: Path) -> None:
    whole = written(tmp_path, HEADER, WORKLOAD, STEPS, STEPS).read_bytes()
    header_end = whole.index(b"\n") + 1
    for cut in range(header_end, len(whole), 7):
        (tmp_path / "cut.rec").write_bytes(whole[:cut])
        diagnose(read_recording(tmp_path / "cut.rec"))


def test_what_was_wrong_is_said(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, HEADER, WORKLOAD, {**STEPS, "n": "x"}, STEPS))
    assert recording.damage == ("steps: StepsLine.n: 'x' is not a whole number in range",)
    (warning,) = [one.message for one in diagnose(recording).health]
    assert "1 damaged record was left out" in warning and "StepsLine.n" in warning


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"t": [10, 0]}, "times that do not advance"),
        ({"t": [5, 5]}, "times that do not advance"),
        ({"t": [], "step": [], "wait": [], "callbacks": []}, "no steps"),
        ({"n": 0}, "no steps"),
        ({"wait": [1]}, "columns of different lengths"),
        ({"w": 9}, "there is no workload 9"),
    ],
)
def test_steps_that_cannot_be(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    recording = read_recording(written(tmp_path, HEADER, WORKLOAD, {**STEPS, **change}))
    assert reason in recording.damage[0]
    assert recording.workloads[0].blocks == ()


def test_steps_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    later = {**STEPS, "t": [20, 30]}
    (workload,) = read_recording(written(tmp_path, HEADER, WORKLOAD, later, STEPS)).workloads
    assert [block.t for block in workload.blocks] == [(0, 10), (20, 30)]


def test_steps_that_were_recorded_twice_count_once(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, HEADER, WORKLOAD, STEPS, STEPS))
    assert len(recording.workloads[0].blocks) == 1
    assert recording.damage == ("steps: recorded twice",)


def test_a_workload_is_not_its_own_parent(tmp_path: Path) -> None:
    recording = read_recording(written(tmp_path, HEADER, {**WORKLOAD, "parent": 1}))
    assert recording.workloads[0].parent is None


def test_a_failed_probe_takes_an_earlier_result_back(tmp_path: Path) -> None:
    ok = {"k": "probe", "w": 1, "name": "frozen_batch", "status": "ok", "data": {"ns": [5.0]}}
    failed = {"k": "probe", "w": 1, "name": "frozen_batch", "status": "failed", "reason": "hangs"}
    (first,) = read_recording(written(tmp_path, HEADER, WORKLOAD, ok)).workloads
    assert first.found(FrozenBatch) == FrozenBatch(ns=(5.0,))
    (last,) = read_recording(written(tmp_path, HEADER, WORKLOAD, ok, failed)).workloads
    assert last.found(FrozenBatch) is None and last.probes["frozen_batch"].reason == "hangs"


def test_details_that_do_not_fit_are_left_out_of_their_record(tmp_path: Path) -> None:
    wrong = {**WORKLOAD, "detail": {"epochs": "many", "backend": "jax"}}
    (workload,) = read_recording(written(tmp_path, HEADER, wrong)).workloads
    assert workload.detail == WorkloadDetail(backend="jax")


@pytest.mark.parametrize("schema", [1, 2])
def test_both_schemas_open(tmp_path: Path, schema: int) -> None:
    recording = read_recording(written(tmp_path, {**HEADER, "schema": schema}, WORKLOAD, STEPS))
    assert recording.damage == () and recording.header.fitdoctor == "0.1.0"
