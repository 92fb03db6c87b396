from __future__ import annotations

import subprocess
import sys
import time

from fitdoctor.inside.lab.recording import Watchdog

HANGS = """
import sys, time
from fitdoctor.inside.lab.recording import Watchdog
print("before", end="")
with Watchdog(lambda: print(" hung", end=""), seconds=0.3):
    time.sleep(60)
print("never")
"""


def test_it_leaves_alone_what_comes_back() -> None:
    called: list[int] = []
    with Watchdog(lambda: called.append(1), seconds=1.0):
        pass
    time.sleep(1.3)
    assert called == []


def test_it_says_so_flushes_and_ends_what_hangs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0
    assert done.stdout == "before hung"
