"""Measure the gain of a case with real processes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from casebook.case import Case
from casebook.gain import Gain, GainError, Run, measure_rounds
from casebook.process import Finished, last_line, run_process

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
    measured = _process_seconds if case.whole else _seconds

    def run(script: str) -> float:
        return measured(case, folder, f"{script}.py")

    if case.whole:
        run("fixed")  # a cache is filled by the first start
    return run


def _process_seconds(case: Case, folder: Path, script: str) -> float:
    """Of the whole process."""
    return _finished(case, folder, script, [script]).seconds


def _seconds(case: Case, folder: Path, script: str) -> float:
    """Of the training alone, per unit of CASEBOOK_SCALE."""
    finished = _finished(case, folder, script, ["-m", "casebook.timed", script])
    marked = [line for line in finished.stdout.splitlines() if line.startswith(MARK)]
    if not marked:
        raise GainError(f"{script} of {case.id} failed: {last_line(finished.stderr)}")
    return float(marked[-1].removeprefix(MARK))


def _finished(case: Case, folder: Path, script: str, arguments: list[str]) -> Finished:
    finished = run_process(
        [*case.launcher, sys.executable, *arguments],
        folder=folder,
        env={**case.environment, "PYTHONPATH": str(ROOT)},
        timeout_s=TIMEOUT_S,
    )
    if finished.timed_out:
        raise GainError(f"{script} of {case.id} ran longer than {TIMEOUT_S:.0f} s")
    if finished.exit_code != 0:
        raise GainError(f"{script} of {case.id} failed: {last_line(finished.stderr)}")
    return finished
