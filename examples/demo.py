"""`make demo`: a slow script, the verdict, the cure and the proof."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SLOW = HERE / "slow_loader.py"
FIXED = HERE / "fixed_loader.py"
ROUNDS = 3


def main() -> int:
    """Diagnose, show the cure, measure it."""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    say("1. A script that trains, but slowly. What does fitdoctor say?")
    command = [sys.executable, "-m", "fitdoctor", "run", "--budget", "30", str(SLOW)]
    print(f"$ fitdoctor run {SLOW.name}", flush=True)
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        return 1
    say("2. The cure it names, written out:")
    print(diff())
    say(f"3. The proof: both scripts for one epoch and for three, {ROUNDS} times in turn.")
    ratios = sorted(measured(environment) for _ in range(ROUNDS))
    low, middle, high = ratios[0], ratios[ROUNDS // 2], ratios[-1]
    print(f"   {middle:.1f}x faster per epoch ({low:.1f} to {high:.1f} in {ROUNDS} rounds)")
    return 0 if low > 1 else 1


def say(text: str) -> None:
    """A heading between the parts."""
    print(f"\n── {text}\n", flush=True)


def diff() -> str:
    """The change from the slow to the fixed script."""
    before, after = (path.read_text().splitlines() for path in (SLOW, FIXED))
    lines = difflib.unified_diff(before[6:], after[6:], SLOW.name, FIXED.name, lineterm="", n=1)
    return "\n".join(f"   {line}" for line in lines)


def measured(environment: dict[str, str]) -> float:
    """Slow over fixed, from the two more epochs of the longer run: start-up cancels out."""
    slow, fixed = (
        seconds(path, 3, environment) - seconds(path, 1, environment) for path in (SLOW, FIXED)
    )
    return slow / max(0.01, fixed)


def seconds(path: Path, epochs: int, environment: dict[str, str]) -> float:
    """Wall time of a script with that many epochs."""
    text = path.read_text().replace("epochs=20, verbose=2", f"epochs={epochs}, verbose=0")
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", text], env=environment, check=True, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
