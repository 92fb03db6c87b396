"""A profiler's own lines stay off the terminal; the script's own are never lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import contextlib, os, sys
from fitdoctor.inside.seams.operations.quiet_start import quiet_start
{before}
with quiet_start(), contextlib.suppress(OSError):
    os.write(2, b"I0000 00:00:1 1 profiler_session.cc:117] Profiler session initializing.\\n")
    os.write(2, b"W0000 00:00:1 1 session_manager.cc:55] delay_ms expects an i value.\\n")
    os.write(2, b"mine, in the middle\\n")
os.write({out}, b"after\\n")
"""


def printed(before: str = "", out: int = 2) -> subprocess.CompletedProcess[str]:
    script = SCRIPT.format(before=before, out=out)
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_other_lines_are_passed_on() -> None:
    assert printed().stderr == "mine, in the middle\nafter\n"


@pytest.mark.parametrize("before", ["os.close(2)", "sys.stderr = None", "sys.stderr.close()"])
def test_a_script_may_have_closed_stderr(before: str) -> None:
    assert printed(before, out=1).stdout == "after\n"


@pytest.mark.end_to_end
def test_tensorflow_says_nothing_of_its_profiler(tmp_path: Path) -> None:
    script = (
        "import tensorflow as tf\n"
        "from fitdoctor.inside.seams.operations.tensorflow_profile import profiled\n"
        "f = tf.function(lambda x: x @ x)\n"
        "x = tf.ones((64, 64))\n"
        "profiled(lambda: f(x).numpy())\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "rofiler" not in done.stderr, done.stderr
    assert "expects an" not in done.stderr, done.stderr
