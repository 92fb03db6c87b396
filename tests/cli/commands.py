"""Starts commands for the tests of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FAKE_CHAIN = str(Path(__file__).with_name("fake_chain.py"))
REAL = ([str(Path(sys.executable).with_name("fitdoctor"))], [sys.executable, "-m", "fitdoctor"])
TIMEOUT_S = 60
# PYTHONPATH: a checkout may be tested with an environment that another one is installed in.
PASSED_ON = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")

TRAINS = """
import glob
with open(sorted(glob.glob(".fitdoctor/*.rec"))[-1], "a") as recording:
    recording.write('{"k":"progress","phase":"p","text":"recording 1 of 30 s"}\\n' * 2)
    recording.write('{"k":"fake-training"}\\n')
print("the script's own output")
"""


def run(
    command: list[str], *args: str, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    base = {key: value for key, value in os.environ.items() if key in PASSED_ON}
    return subprocess.run(
        [*command, *args],
        cwd=cwd,
        env=base | {"LANG": "C.UTF-8"} | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def fake(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, FAKE_CHAIN], *args, cwd=cwd, **environment)
