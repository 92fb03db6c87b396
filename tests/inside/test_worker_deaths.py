"""Worker processes that a signal ended; `multiprocessing`'s own seam."""

from __future__ import annotations

import multiprocessing
import multiprocessing.popen_fork
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.writer import Writer
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs.worker_deaths import watch_worker_deaths
from fitdoctor.launch.launcher import launch
from fitdoctor.launch.recording_files import record_in


def notes(path: Path) -> list[str]:
    if not path.exists():
        return []
    return [
        found["message"]
        for line in path.read_bytes().splitlines()
        if (found := record_in(line, "note"))
    ]


def ended(path: Path, ending: int | None, method: str = "spawn") -> list[str]:
    recorder = Recorder(Writer(str(path)))
    original = multiprocessing.popen_fork.Popen.poll
    watch_worker_deaths(recorder, multiprocessing.popen_fork)
    try:
        seconds = 0 if ending is None else 60
        process = multiprocessing.get_context(method).Process(target=time.sleep, args=(seconds,))
        process.start()
        if ending is not None:
            os.kill(process.pid or 0, ending)
        process.join()
        assert not process.is_alive()
    finally:
        recorder.patches.undo()
    assert multiprocessing.popen_fork.Popen.poll is original
    return notes(path)


@pytest.mark.parametrize("ending", [None, signal.SIGTERM])
def test_workers_that_end_as_they_should_are_silent(tmp_path: Path, ending: int | None) -> None:
    assert ended(tmp_path / "a.rec", ending) == []


@pytest.mark.parametrize(
    ("ending", "repair"),
    [
        (signal.SIGKILL, "often out of memory: use fewer workers"),
        (signal.SIGBUS, "docker run --shm-size 8g"),
        (signal.SIGSEGV, "native code crashed: load the data with 0 workers"),
    ],
)
def test_a_killed_worker_is_told_once_with_its_repair(
    tmp_path: Path, ending: int, repair: str
) -> None:
    (text,) = ended(tmp_path / "a.rec", ending)
    assert signal.Signals(ending).name in text
    assert repair in text


SCRIPT = """
import multiprocessing, os, signal, time

def work():
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=work)
        process.start()
        process.join()
"""


@pytest.mark.end_to_end
def test_a_script_under_the_recorder(tmp_path: Path) -> None:
    script, path = tmp_path / "a.py", tmp_path / "a.rec"
    script.write_text(SCRIPT)
    path.touch()
    outcome = launch([sys.executable, str(script)], recording=path, options=RunOptions())
    assert outcome.code == 0
    assert len(notes(path)) == 2
