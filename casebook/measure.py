"""Measure the gain of a case with real processes."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from casebook.case import Case
from casebook.gain import Gain, GainError, Run, measure_run_gain, measure_step_gain
from casebook.process import last_line, run_process

TIMEOUT_S = 300.0


def measure_gain(case: Case) -> Gain:
    """slow / fixed of a case, in its own gain unit.

    Raises:
        GainError: a script failed, took too long, or nothing could be told from the times.
    """
    with tempfile.TemporaryDirectory(prefix=f"casebook-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, case.fixed):
            shutil.copy(script, folder / script.name)
        run = _runner(case, folder)
        if case.gain_unit == "run":
            return measure_run_gain(run, _startup_s(case, folder))
        return measure_step_gain(run, clock=time.monotonic)


def _runner(case: Case, folder: Path) -> Run:
    def run(script: str, scale: float) -> float:
        return _wall_s(case, folder, [f"{script}.py"], {"CASEBOOK_SCALE": repr(scale)})

    return run


def _startup_s(case: Case, folder: Path) -> float:
    return _wall_s(case, folder, ["-c", "import keras"], {"KERAS_BACKEND": case.backend})


def _wall_s(case: Case, folder: Path, arguments: list[str], env: dict[str, str]) -> float:
    finished = run_process(
        [*case.launcher, sys.executable, *arguments],
        folder=folder,
        env={**case.env, **env},
        timeout_s=TIMEOUT_S,
    )
    if finished.timed_out:
        raise GainError(f"{arguments[0]} of {case.id} ran longer than {TIMEOUT_S:.0f} s")
    if finished.exit_code != 0:
        raise GainError(f"{arguments[0]} of {case.id} failed: {last_line(finished.stderr)}")
    return finished.seconds
