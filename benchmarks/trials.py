"""What a cure gained when `run` tried it, beside what `prove` finds for the same edit.

    python -m benchmarks.trials CASE ... [--budget 40] [--window 2]

`fitdoctor run` examines slow.py and starts its cured text once, for some seconds. `fitdoctor prove
--from` then runs both in turn. A row has the trial's ratio, the gain that was modelled before the
trial, and the proven one: these rows say how far a trial may be off (`benchmarks.calibration`). A
case where another set of cures is proven than was tried gives no row. Rows of cases that are not
asked for are kept, each with its commit, date and machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.examined import commit
from casebook.case import Case, load_all
from casebook.process import last_line, run_process
from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.contract.results import Evidence, recorded_name
from fitdoctor.diagnosis import diagnose

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "trials.json"
LIMIT_S = 300.0

Row = dict[str, Any]


def main() -> int:
    """Measure, print, write."""
    options = _parser().parse_args()
    cases = load_all(ROOT / "casebook")
    rows: dict[str, Row] = {}
    if options.output.exists():
        rows = {row["id"]: row for row in json.loads(options.output.read_text("utf-8"))["rows"]}
    limits = ["--budget", str(options.budget), "--window", str(options.window)]
    for name in options.cases:
        found = scored(cases[name], [*limits, "--max-runs", "8"])
        print(f"{name:10} {found if isinstance(found, str) else _line(found)}", flush=True)
        if not isinstance(found, str):
            rows[name] = found
            text = json.dumps({"rows": sorted(rows.values(), key=lambda row: row["id"])}, indent=1)
            options.output.write_text(text + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of each proof")
    parser.add_argument("--window", type=float, default=2.0, help="seconds of training of a run")
    parser.add_argument("--output", type=Path, default=RESULT)
    return parser


def scored(case: Case, limits: list[str]) -> Row | str:
    """The row of one case, or why there is none."""
    with tempfile.TemporaryDirectory(prefix=f"trials-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, *case.modules):
            shutil.copy(script, folder / script.name)
        said = _fitdoctor(
            case, folder, "run", "-q", "--budget", "120", "--output-dir", "rec", "slow.py"
        )
        recorded = sorted((folder / "rec").glob("*.rec"))
        if not recorded:
            return f"no recording: {last_line(said)}"
        recording = read_recording(recorded[-1])
        tried = dict(_trials(recording))
        if not tried:
            return "no cure was tried"
        out = folder / "proof.json"
        changes = ["--unsafe", "--no-check", "--from", str(recorded[-1]), "-o", str(out)]
        said = _fitdoctor(case, folder, "prove", "-q", *limits, *changes, "slow.py")
        if not out.exists():
            return f"no proof: {last_line(said)}"
        proof: Row = json.loads(out.read_text("utf-8"))
        rules = {line.split()[0] for line in proof["cures"]}
        if len(rules) != 1 or not rules <= tried.keys() or not proof["ratio"]:
            return f"tried {sorted(tried)}, proven {sorted(rules)}: {proof['reason']}"
        (rule,) = rules
        return _row(case, rule, tried[rule], recording, proof)


def _row(case: Case, rule: str, trial: CureTrial, recording: Recording, proof: Row) -> Row:
    return {
        "id": case.id,
        "backend": case.backend,
        "rule": rule,
        "tried": {"ratio": round(trial.before_ns / trial.after_ns, 3), "pairs": trial.pairs},
        "modelled": _modelled(recording, rule),
        "achieved": {key: proof[key] for key in ("ratio", "low", "high")},
        "verdict": proof["verdict"],
        "commit": commit(),
        "date": str(date.today()),
        "machine": f"{os.cpu_count()} cores, {platform.platform()}",
    }


def _fitdoctor(case: Case, folder: Path, *arguments: str) -> str:
    command = [*case.launcher, sys.executable, "-m", "fitdoctor", *arguments]
    return run_process(command, folder=folder, env=case.environment, timeout_s=LIMIT_S).stderr


def _trials(recording: Recording) -> Iterator[tuple[str, CureTrial]]:
    for workload in recording.workloads:
        for name, found in workload.evidence.by_name.items():
            if isinstance(found, CureTrial):
                yield name.removeprefix(f"{recorded_name(CureTrial)}_"), found


def _modelled(recording: Recording, rule: str) -> Row | None:
    """The gain of the edit as it was known before the trial."""
    plain = replace(recording, workloads=tuple(map(_without_trials, recording.workloads)))
    for workload in diagnose(plain).workloads:
        for finding in workload.findings:
            if finding.rule == rule:
                edited = finding.as_edited
                return {**edited.gain.to_json(), "how": edited.how}
    return None


def _without_trials(workload: RecordedWorkload) -> RecordedWorkload:
    by_name = workload.evidence.by_name
    kept = {name: one for name, one in by_name.items() if not isinstance(one, CureTrial)}
    return replace(workload, evidence=Evidence(kept))


def _line(row: Row) -> str:
    before = row["modelled"]
    modelled = "-" if before is None else f"{before['ratio']:.3g}x {before['how']}"
    return (
        f"{row['rule']} {modelled}, tried {row['tried']['ratio']:.3g}x "
        f"({row['tried']['pairs']} pairs), proven {row['achieved']['ratio']:.3g}x"
    )


if __name__ == "__main__":
    sys.exit(main())
