"""`fitdoctor attach`: a process that runs already, and everything that is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from fitdoctor.attach import py_spy
from fitdoctor.cli.attach import command
from fitdoctor.contract.errors import OutputError, UsageError

SCRIPT = """
import threading, time

def augment():
    total = 0
    for i in range(50_000):
        total += i * i
    return total

def train():
    while True:
        augment()

def heartbeat():
    while True:
        time.sleep(0.5)

threading.Thread(target=heartbeat, daemon=True).start()
print("training", flush=True)
train()
"""
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
needs_ptrace = pytest.mark.skipif(
    os.geteuid() != 0 and YAMA.exists() and YAMA.read_text().strip() != "0",
    reason="this user may not read the memory of other processes",
)


@contextmanager
def started(words: list[str], cwd: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "training\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def refused(*args: str) -> str:
    result = CliRunner().invoke(command, list(args))
    assert isinstance(result.exception, (UsageError, OutputError))
    assert result.exception.exit_code == 2
    assert "\n" not in result.exception.message
    return f"{result.exception.message} / {result.exception.advice}"


@needs_ptrace
@pytest.mark.end_to_end
def test_a_training_is_watched_from_outside(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    words = [sys.executable, "train.py", "--epochs", "3"]
    with started(words, tmp_path) as process:
        out = tmp_path / "out.json"
        result = CliRunner().invoke(
            command, [str(process.pid), "--seconds", "2", "--json", str(out)]
        )
        assert process.poll() is None  # it keeps running
    assert result.exception is None
    found = json.loads(out.read_text())
    top = found["lines"][0]
    assert Path(top["file"]).name == "train.py"
    assert (top["function"], top["thread"]) == ("augment", "main")
    assert top["line"] in (6, 7)
    assert found["main_thread"]["own"] > 0.5
    assert found["machine"]["memory_bytes"] > 1_000_000
    assert found["run_command"] == "fitdoctor run train.py --epochs 3"
    assert "Your own Python takes" in result.stdout
    assert "next:  fitdoctor run train.py --epochs 3" in result.stdout
    assert all(len(line) <= 100 for line in result.stdout.splitlines())


@needs_ptrace
@pytest.mark.end_to_end
def test_a_shell_names_the_python_below_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    shell = ["bash", "-c", f"{sys.executable} train.py & child=$!; trap 'kill $child' EXIT; wait"]
    process = subprocess.Popen(shell, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "training\n"
        assert "(bash) is not a Python process / fitdoctor attach " in refused(
            str(process.pid), "--seconds", "2"
        )
    finally:
        process.terminate()
        process.communicate()


@needs_ptrace
def test_another_program_is_refused() -> None:
    process = subprocess.Popen(["sleep", "30"])
    try:
        assert "(sleep) is not a Python process / pgrep -af python" in refused(str(process.pid))
    finally:
        process.kill()
        process.wait()


def test_no_such_process() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert f"there is no process {ended.pid} / pgrep" in refused(str(ended.pid))


def test_without_py_spy_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(py_spy.sys, "executable", "/nowhere/python")
    monkeypatch.setattr(py_spy.shutil, "which", lambda name: None)
    assert "pip install 'fitdoctor[attach]'" in refused(str(os.getpid()))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("Error: Permission Denied: Try running again with sudo", "no permission to read"),
        ("Error: Operation not permitted (os error 1)", "no permission to read"),
        ("Error: Failed to find python version from target process", "is not a Python process"),
        ("nothing\nError: something else\nStack backtrace:\n 0: x", ": something else / py-spy"),
    ],
)
def test_complaints_of_py_spy_become_one_line(
    said: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def complain(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", said)

    monkeypatch.setattr(py_spy, "py_spy_program", lambda: "py-spy")
    monkeypatch.setattr(py_spy.subprocess, "run", complain)
    with pytest.raises(UsageError) as error:
        py_spy.sample_windows(os.getpid(), 2)
    assert message in f"{error.value.message} / {error.value.advice}"


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("{}")
    assert "exists already" in refused(str(os.getpid()), "--json", str(tmp_path / "out.json"))
