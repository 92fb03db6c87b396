"""Let fitdoctor examine a case's slow.py, and keep its JSON report and the time it took."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casebook.case import Case
from casebook.process import Finished, last_line, run_process

# Three times the longest examination we accept: a hang ends, a slow verdict is still seen.
TIMEOUT_S = 300.0
SCHEMA = 1


@dataclass(frozen=True)
class Diagnosis:
    """fitdoctor's report on a case, or the reason why there is none."""

    report: dict[str, Any] | None
    seconds: float
    error: str = ""


def diagnose(
    case: Case,
    *,
    keep: Path | None = None,
    budget_s: float | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Diagnosis:
    """Run `fitdoctor run` on a copy of slow.py and its modules in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix=f"casebook-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, *case.modules):
            shutil.copy(script, folder / script.name)
        budget = [] if budget_s is None else ["--budget", f"{budget_s:g}"]
        command = [sys.executable, "-m", "fitdoctor", "run", *budget, "-o", "out.json", "slow.py"]
        finished = run_process(
            [*case.launcher, *command], folder=folder, env=case.environment, timeout_s=timeout_s
        )
        if keep is not None:
            _keep(folder, keep / case.id, finished)
        return _read(folder / "out.json", finished, timeout_s)


def diagnose_kept(case: Case, kept: Path) -> Diagnosis:
    """Judge a recording that an earlier run kept, by the rules as they are now."""
    recording = kept / case.id / "recording.rec"
    if not recording.is_file():
        return Diagnosis(None, 0.0, f"no recording was kept in {recording.parent}")
    with tempfile.TemporaryDirectory(prefix=f"casebook-{case.id}-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "fitdoctor", "report", "-o", "out.json"]
        finished = run_process(
            [*command, str(recording.resolve())], folder=folder, env={}, timeout_s=TIMEOUT_S
        )
        return _read(folder / "out.json", finished, TIMEOUT_S)


def _read(path: Path, finished: Finished, timeout_s: float) -> Diagnosis:
    if finished.timed_out:
        return Diagnosis(None, finished.seconds, f"no verdict within {timeout_s:.0f} s")
    if not path.is_file():
        reason = f"no report, exit code {finished.exit_code}: {last_line(finished.stderr)}"
        return Diagnosis(None, finished.seconds, reason)
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        return Diagnosis(None, finished.seconds, f"the report is not JSON: {error}")
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        return Diagnosis(None, finished.seconds, f"the report has not schema {SCHEMA}")
    return Diagnosis(report, finished.seconds)


def _keep(folder: Path, target: Path, finished: Finished) -> None:
    target.mkdir(parents=True, exist_ok=True)
    (target / "stdout.txt").write_text(finished.stdout, encoding="utf-8")
    (target / "stderr.txt").write_text(finished.stderr, encoding="utf-8")
    if (folder / "out.json").is_file():
        shutil.copy(folder / "out.json", target / "out.json")
    for recording in (folder / ".fitdoctor").glob("*.rec"):
        shutil.copy(recording, target / "recording.rec")
