"""Exports: what was not measured stays empty, and shared files name nothing."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from diagnoses import diagnosis, slow_workload
from hostile import hostile_recording

from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.reader import read_recording
from fitdoctor.diagnosis import diagnose
from fitdoctor.report.export.perfetto_trace import check_perfetto, perfetto_trace
from fitdoctor.report.export.steps_csv import COLUMNS, steps_csv
from fitdoctor.report.export.tensorboard_scalars import check_tensorboard, write_scalars
from fitdoctor.report.html.page import render
from fitdoctor.report.machine import to_text
from fitdoctor.report.no_source import without_source
from fitdoctor.report.proof_file import read_proof
from synthetic import MS, fit_workload, recording, timed


def test_csv_leaves_empty_what_was_not_measured() -> None:
    rows = list(csv.DictReader(io.StringIO(steps_csv(recording(fit_workload(wait=None, steps=3))))))
    assert list(rows[0]) == list(COLUMNS) and len(rows) == 3
    assert rows[0]["wait_ns"] == "" and rows[0]["step_ns"] == str(9 * MS)
    assert rows[-1]["period_ns"] == ""  # nothing follows the last step


def test_csv_holds_no_formula(tmp_path: Path) -> None:
    workload = replace(fit_workload(steps=2), file='=HYPERLINK("x")')
    assert "\"'=HYPERLINK" in steps_csv(recording(workload))


def test_a_trace_can_be_read_back() -> None:
    pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    made = recording(fit_workload(steps=5, wait=MS, found=[timed(FrozenBatch, MS)]))
    trace = pb.Trace()
    trace.ParseFromString(perfetto_trace(made))
    begins = [p for p in trace.packet if p.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN]
    ends = [p for p in trace.packet if p.track_event.type == pb.TrackEvent.TYPE_SLICE_END]
    assert len(begins) == len(ends)
    assert sum(p.track_event.name.startswith("step ") for p in begins) == 5
    assert sum(p.track_event.name == "wait" for p in begins) == 5


def test_scalars_can_be_read_back(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    assert write_scalars(recording(fit_workload(steps=5, wait=None)), tmp_path) == 1
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (file,) = tmp_path.glob("*/events*")
    tags = [v.tag for event in EventFileLoader(str(file)).Load() for v in event.summary.value]
    assert tags.count("fitdoctor/training_step_ms") == 5
    assert "fitdoctor/input_wait_ms" not in tags


@pytest.mark.parametrize(
    ("module", "check", "extra"),
    [
        ("perfetto.trace_builder.proto_builder", check_perfetto, "trace"),
        ("tensorboard.compat.proto.event_pb2", check_tensorboard, "tensorboard"),
    ],
)
def test_a_missing_extra_is_named(monkeypatch, module, check, extra) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError) as caught:
        check()
    assert caught.value.advice == f"pip install 'fitdoctor[{extra}]'"


def test_shared_reports_name_no_file(tmp_path: Path) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=False))
    found, shared = without_source(diagnose(made), made)
    text = to_text(found) + render(found, shared) + steps_csv(shared)
    for name in ("/user", "train.py", "data.py", "a.rec", "--x"):
        assert name not in text
    assert "file-1.py" in text


def test_names_in_messages_are_replaced_alike() -> None:
    workload = replace(
        slow_workload(),
        sentence="most of it in map (data.py:31), see /home/me/secret/thing.txt",
    )
    made = recording(replace(fit_workload(), file="/work/project/data.py", line=31))
    found, _ = without_source(diagnosis(workload), made)
    sentence = found.workloads[0].sentence
    assert "secret" not in sentence and "data.py" not in sentence
    assert found.workloads[0].findings[0].where is not None
    assert f"({found.workloads[0].findings[0].where.file}:31)" in sentence
    assert found.workloads[0].step == workload.step


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"verdict": "great"}'])
def test_files_that_are_no_proofs(tmp_path: Path, content: str) -> None:
    file = tmp_path / "proof.json"
    file.write_text(content)
    with pytest.raises(UsageError, match="cannot be read as a proof"):
        read_proof(file)
    with pytest.raises(UsageError):
        read_proof(tmp_path / "missing.json")


def test_a_proof_with_broken_numbers_keeps_its_verdict(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    file.write_text(json.dumps({"verdict": "slower", "ratio": 2, "low": 3, "high": 1}))
    assert read_proof(file).verdict == "slower" and read_proof(file).ratio is None
