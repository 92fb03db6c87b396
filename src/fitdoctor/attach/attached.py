"""All that can be said of a running process from outside."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Any

import psutil

from fitdoctor.attach.host_time import HostTime, host_time
from fitdoctor.attach.machine_watch import MachineUse, MachineWatch
from fitdoctor.attach.py_spy import py_spy_program, sample_windows
from fitdoctor.contract.errors import UsageError

# Options of the interpreter that take the next word.
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
# Lines in the JSON result; the screen shows fewer.
MOST_LINES = 50


@dataclass(frozen=True)
class Attached:
    """What a look at a process gave."""

    pid: int
    command: tuple[str, ...]
    cwd: str | None
    seconds: float
    host: HostTime
    machine: MachineUse

    def to_json(self) -> dict[str, Any]:
        """The JSON result."""
        shares = self.host.shares
        return {
            "schema": 1,
            "process": {"pid": self.pid, "command": list(self.command), "cwd": self.cwd},
            "seconds": self.seconds,
            "samples": self.host.samples,
            "main_thread": None if shares is None else vars(shares),
            "lines": [line.to_json() for line in self.host.lines[:MOST_LINES]],
            "machine": self.machine.to_json(),
            "run_command": run_command(self.command),
        }


def look_at(pid: int, seconds: float) -> Attached:
    """Watch a process for some seconds.

    Raises:
        UsageError: There is no such process, or it cannot be looked at.
    """
    py_spy_program()
    try:
        process = psutil.Process(pid)
        command = tuple(process.cmdline())
    except psutil.NoSuchProcess as error:
        raise UsageError(
            f"there is no process {pid}",
            expected="the process id of a running Python script",
            advice="pgrep -af python",
        ) from error
    except psutil.AccessDenied:
        command = ()
    cwd = _cwd(process)
    watch = MachineWatch(pid)
    watch.start()
    try:
        windows = sample_windows(pid, seconds)
    finally:
        machine = watch.stop()
    watched = sum(one.seconds for one in windows)
    host = host_time(windows, machine.main_thread)
    return Attached(pid, command, cwd, watched, host, machine)


def _cwd(process: psutil.Process) -> str | None:
    try:
        return str(process.cwd())
    except psutil.Error:
        return None


def run_command(command: tuple[str, ...]) -> str | None:
    """`fitdoctor run` for the same script; None where no script can be seen.

    Example:
        >>> run_command(("python", "-u", "train.py", "--epochs", "3"))
        'fitdoctor run train.py --epochs 3'
    """
    words = list(command[1:])
    while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "-"):
        words = words[2:] if words[0] in _WITH_VALUE else words[1:]
    if not words or words == ["-m"] or words[0] in ("-c", "-"):
        return None
    if words[0] != "-m" and not os.path.basename(words[0]).endswith(".py"):
        return None
    return shlex.join(["fitdoctor", "run", *words])
