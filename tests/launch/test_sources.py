from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Machine, Script
from fitdoctor.contract.writer import append
from fitdoctor.launch.recording_files import begin
from fitdoctor.launch.source_digests import append_sources


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_bytes(b"x = 1\n")
    (tmp_path / "data.py").write_bytes(b"y = 2\n")
    os.utime("train.py", ns=(1, 1))
    path = tmp_path / "a.rec"
    begin(path, Script("train.py"), RunOptions(), Machine())
    return path


def digests(recording: Path) -> dict[str, str | None]:
    append_sources(recording)
    last = json.loads(recording.read_bytes().splitlines()[-1])
    assert last["k"] == "sources"
    found: dict[str, str | None] = last["sha256"]
    return found


def test_a_recording_without_places_has_no_sources(recording: Path) -> None:
    assert digests(recording) == {}


def test_files_that_are_not_there_are_left_out(recording: Path) -> None:
    append(recording, {"k": "workload", "file": "/gone.py", "line": 1})
    append(recording, {"k": "workload", "file": "<ipython-input-1>", "line": 1})
    assert digests(recording) == {}


def test_places_are_found_at_any_depth_and_relative_ones_too(recording: Path) -> None:
    folder = recording.parent
    os.utime("data.py", ns=(1, 1))
    append(recording, {"k": "workload", "file": "train.py", "line": 1})
    place = {"file": None, "called_from": [str(folder / "data.py"), 3]}
    append(recording, {"k": "event", "detail": place})
    assert digests(recording) == {
        str(folder / "train.py"): hashlib.sha256(b"x = 1\n").hexdigest(),
        str(folder / "data.py"): hashlib.sha256(b"y = 2\n").hexdigest(),
    }


def test_a_file_written_after_the_start_has_no_digest(recording: Path) -> None:
    later = time.time_ns() + 10**10
    os.utime("data.py", ns=(later, later))
    append(recording, {"k": "workload", "file": "data.py", "line": 1})
    assert digests(recording) == {str(recording.parent / "data.py"): None}


def test_a_torn_last_line_is_no_hindrance(recording: Path) -> None:
    with open(recording, "ab") as file:
        file.write(b'{"k": "workload", "file": "tra')
    assert digests(recording) == {}
