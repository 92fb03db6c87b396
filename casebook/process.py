"""Run one script in its own process and folder, and end it cleanly when it takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finished:
    """What one process left behind."""

    seconds: float
    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool


def run_process(
    command: Sequence[str], *, folder: Path, env: Mapping[str, str], timeout_s: float
) -> Finished:
    """Run `command` in `folder`, with `env` on top of our own environment."""
    start = time.perf_counter()
    # A session of its own, so that worker processes of the script end with it.
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    timed_out = False
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    seconds = time.perf_counter() - start
    return Finished(seconds, process.returncode, stdout, stderr, timed_out)


def last_line(text: str) -> str:
    """The last line with something on it: where Python puts the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
