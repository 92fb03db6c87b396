from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from fitdoctor.contract.codec import decode
from fitdoctor.contract.errors import OutputError, RecordingError
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.records import Machine, Script
from fitdoctor.launch.recording_files import (
    KEPT_RECORDINGS,
    Tail,
    append_exit,
    begin,
    create_recording,
    newest,
    prune,
    recordings,
)

NOW = datetime(2026, 11, 15, 14, 3, 9)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_newest_without_any_recording_says_what_to_do() -> None:
    with pytest.raises(RecordingError) as raised:
        newest()
    assert "fitdoctor run" in raised.value.advice


def test_a_folder_that_cannot_be_made_is_an_output_error(folder: Path) -> None:
    (folder / ".fitdoctor").write_text("a file is in the way")
    with pytest.raises(OutputError) as raised:
        create_recording("train.py")
    assert raised.value.advice


def test_pruning_leaves_files_that_are_not_recordings(folder: Path) -> None:
    for name in ("notes.rec", "2026-11-15_14-03-09_a.json"):
        (folder / name).touch()
    prune(folder, keep=0)
    assert len(list(folder.iterdir())) == 2


def test_the_name_holds_the_time_and_the_script(folder: Path) -> None:
    path = create_recording("some/where/train.py", now=NOW)
    assert path == folder / ".fitdoctor" / "2026-11-15_14-03-09_train.rec"
    assert (folder / ".fitdoctor" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("script", "stem"),
    [("package.train", "package.train"), ("a b$c.py", "a-b-c"), ("...", "script"), ("ä.py", "ä")],
)
def test_odd_names_of_scripts(script: str, stem: str) -> None:
    assert create_recording(script, now=NOW).name == f"2026-11-15_14-03-09_{stem}.rec"


def test_two_in_one_second_are_two_files() -> None:
    assert create_recording("train.py", now=NOW) != create_recording("train.py", now=NOW)


def test_the_newest_is_the_one_written_last() -> None:
    paths = [create_recording(name, now=NOW) for name in ("b.py", "a.py", "c.py")]
    for age, path in enumerate(paths):
        os.utime(path, ns=(0, 1000 - age))
    assert newest() == paths[0]


def test_old_recordings_are_pruned(folder: Path) -> None:
    first = create_recording("train.py", now=NOW)
    os.utime(first, ns=(0, 0))
    for _ in range(KEPT_RECORDINGS):
        create_recording("train.py", now=NOW)
    assert not first.exists()
    assert len(recordings(folder / ".fitdoctor")) == KEPT_RECORDINGS


def test_header_and_exit_are_json_lines() -> None:
    path = create_recording("train.py")
    script = Script("train.py", ("--", "\udcff"))
    begin(path, script, RunOptions(budget_s=5), Machine(cpus=2))
    append_exit(path, code=None, signal=9, overstayed=False)
    header, machine, end = map(json.loads, path.read_text().splitlines())
    assert (header["k"], header["format"], header["schema"]) == ("header", "fitdoctor-recording", 2)
    assert decode(RunOptions, header["options"]) == RunOptions(budget_s=5)
    assert (machine["k"], machine["cpus"]) == ("machine", 2)
    assert header["script"] == {"path": "train.py", "argv": ["--", "\udcff"], "module": False}
    assert (end["k"], end["code"], end["signal"]) == ("exit", None, 9)


def test_the_exit_line_survives_a_half_written_one_before_it(folder: Path) -> None:
    path = folder / "a.rec"
    path.write_bytes(b'{"k":"header"}\n{"k":"ste')
    append_exit(path, code=0, signal=None, overstayed=True)
    assert json.loads(path.read_text().splitlines()[-1])["overstayed"] is True


def test_tail_gives_each_complete_line_once(folder: Path) -> None:
    path = folder / "a.rec"
    path.write_bytes(b"one\ntw")
    tail = Tail(path)
    assert tail.lines() == [b"one"]
    assert tail.lines() == []
    with open(path, "ab") as file:
        file.write(b"o\nthree\n")
    assert tail.lines() == [b"two", b"three"]
