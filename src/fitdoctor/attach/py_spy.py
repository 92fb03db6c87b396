"""py-spy, called as a program: it reads the stacks of a process from its memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil

from fitdoctor.attach.host_time import Window
from fitdoctor.attach.stacks import thread_stacks
from fitdoctor.contract.errors import UsageError

# To read the symbols of a large process and to write the file, beside the sampling itself.
GRACE_S = 30.0
WINDOWS = 4
# What py-spy says of a process without an interpreter.
NOT_PYTHON = ("no python processes", "python version", "python interpreter", "libpython")


class ProcessEnded(Exception):
    """The process was gone before a window was complete."""


def py_spy_program() -> str:
    """Where py-spy is.

    Raises:
        UsageError: It is not installed.
    """
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise UsageError(
            "fitdoctor attach needs py-spy, which is not installed",
            expected="an environment with fitdoctor[attach]",
            advice="pip install 'fitdoctor[attach]'",
        )
    return found


def sample_windows(pid: int, seconds: float) -> list[Window]:
    """Windows of both kinds in turn; fewer if the process ends meanwhile.

    Raises:
        UsageError: The process cannot be looked at.
    """
    program = py_spy_program()
    windows: list[Window] = []
    for number, length in enumerate(window_lengths(seconds)):
        try:
            windows.append(_window(program, pid, length, running_only=number % 2 == 1))
        except ProcessEnded:
            break
    if len(windows) < 2:  # one of each kind
        raise UsageError(
            f"process {pid} ended while it was watched",
            expected="a process that runs for some seconds more",
        )
    return windows


def window_lengths(seconds: float) -> list[int]:
    """Whole seconds, since py-spy takes no others, for at least one window of each kind.

    Example:
        >>> window_lengths(10), window_lengths(3), window_lengths(0.5)
        ([3, 3, 2, 2], [2, 1], [1, 1])
    """
    whole = max(2, round(seconds))
    count = WINDOWS if whole >= WINDOWS else 2
    return [whole // count + (number < whole % count) for number in range(count)]


def _window(program: str, pid: int, seconds: int, *, running_only: bool) -> Window:
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        target = Path(folder) / "stacks.json"
        words = [program, "record", "--pid", str(pid), "--duration", str(seconds)]
        words += ["--format", "speedscope", "--full-filenames", "--threads", "--subprocesses"]
        words += ["--output", str(target), *([] if running_only else ["--idle"])]
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds + GRACE_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            raise UsageError(
                f"py-spy gave no answer within {seconds + GRACE_S:.0f} s for process {pid}",
                advice=f"py-spy dump --pid {pid}",
            ) from error
        stacks = _read(target)
    if stacks is None:
        raise _refused(pid, done.stderr)
    threads = thread_stacks(stacks, pid)
    if not running_only and not any(one.is_main for one in threads):
        raise _not_python(pid)  # only its children are
    return Window(float(seconds), running_only, threads)


def _read(target: Path) -> dict[str, Any] | None:
    """What py-spy wrote; it writes nothing where it could not look."""
    try:
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return None
    return found if found.get("profiles") is not None else None


def _refused(pid: int, stderr: str) -> Exception:
    """What py-spy's complaint means for the user."""
    said = stderr.lower()
    if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
        return ProcessEnded()
    if "permission denied" in said or "operation not permitted" in said:
        return UsageError(
            f"no permission to read the memory of process {pid}",
            expected="root, or CAP_SYS_PTRACE in a container",
            advice=f"sudo {sys.executable} -m fitdoctor attach {pid}",
        )
    if any(words in said for words in NOT_PYTHON):
        return _not_python(pid)
    reason = next((line for line in stderr.splitlines() if "error" in line.lower()), "no reason")
    return UsageError(
        f"py-spy cannot look at process {pid}: {reason.removeprefix('Error: ')}",
        advice=f"py-spy dump --pid {pid}",
    )


def _not_python(pid: int) -> UsageError:
    """A shell or a launcher: Python may be one of its children."""
    try:
        process = psutil.Process(pid)
        name = process.name()
        inner = [one for one in process.children(recursive=True) if "python" in one.name()]
    except psutil.Error:
        name, inner = "ended", []
    return UsageError(
        f"process {pid} ({name}) is not a Python process",
        expected="the process id of a running Python script",
        advice=f"fitdoctor attach {inner[0].pid}" if inner else "pgrep -af python",
    )
