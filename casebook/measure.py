"""Measure the gain of a case with real processes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from casebook.case import Case
from casebook.gain import Gain, GainError, Run, measure_rounds
from casebook.process import last_line, run_process

TIMEOUT_S = 300.0
MARK = "casebook-seconds "
ROOT = Path(__file__).parents[1]


def measure_gain(case: Case, most_rounds: int) -> Gain:
    """slow / fixed of a case.

    Raises:
        GainError: a script failed, took too long, or nothing could be told from the times.
    """
    with tempfile.TemporaryDirectory(prefix=f"casebook-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, case.fixed, *case.modules):
            shutil.copy(script, folder / script.name)
        return measure_rounds(_runner(case, folder), most_rounds)


def _runner(case: Case, folder: Path) -> Run:
    def run(script: str) -> float:
        return _seconds(case, folder, f"{script}.py")

    return run


def _seconds(case: Case, folder: Path, script: str) -> float:
    finished = run_process(
        [*case.launcher, sys.executable, "-m", "casebook.timed", script],
        folder=folder,
        env={**case.environment, "PYTHONPATH": str(ROOT)},
        timeout_s=TIMEOUT_S,
    )
    if finished.timed_out:
        raise GainError(f"{script} of {case.id} ran longer than {TIMEOUT_S:.0f} s")
    marked = [line for line in finished.stdout.splitlines() if line.startswith(MARK)]
    if finished.exit_code != 0 or not marked:
        raise GainError(f"{script} of {case.id} failed: {last_line(finished.stderr)}")
    return float(marked[-1].removeprefix(MARK))
