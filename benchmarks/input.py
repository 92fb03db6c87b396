"""What the planner makes of slow input: loaders as written, by rule of thumb, planned, by experts.

    python -m benchmarks.input [CASE ...] [--seconds 2] [--rounds 3]

For each case, `fitdoctor run` examines slow.py, and the planner chooses from its recording. One
process then reads four loaders in turn: slow.py's as written; the same with AUTOTUNE everywhere
and a prefetch, as people do by hand; the same as planned; and the expert's, of fixed.py. The
rates are rows per second without a model; caches are full before they are timed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from casebook.case import Case, load_all

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "input.json"
CASES = ("S04", "S05", "S09", "S10", "S11", "S13", "S14", "D03", "A04")
LIMIT_S = 400


def main() -> int:
    """Measure, print, write."""
    options = _parser().parse_args()
    cases = load_all(ROOT / "casebook")
    rows = []
    for name in options.cases or CASES:
        row = measured(cases[name], options.rounds, options.seconds)
        rows.append(row)
        print(_line(row), flush=True)
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    RESULT.write_text(
        json.dumps({"date": str(date.today()), "machine": machine, "rows": rows}, indent=1) + "\n"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    return parser


def measured(case: Case, rounds: int, seconds: float) -> dict[str, Any]:
    """Rates of one case."""
    plan = planned(case)
    request = {
        "slow": str(case.slow),
        "fixed": str(case.fixed),
        "plan": plan,
        "rounds": rounds,
        "seconds": seconds,
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.input_worker"],
        input=json.dumps(request),
        env={**os.environ, **case.environment, "TF_CPP_MIN_LOG_LEVEL": "3", "CASEBOOK_SCALE": "1"},
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        return {"case": case.id, "plan": plan, "error": done.stderr.strip().splitlines()[-1:]}
    rates = json.loads(done.stdout.splitlines()[-1])
    middle = {name: statistics.median(values) for name, values in rates.items() if values}
    return {"case": case.id, "plan": plan, "rows_per_second": rates, "median": middle}


def planned(case: Case) -> dict[str, Any] | None:
    """The planner's choice for slow.py, from a recording of its own."""
    from fitdoctor.analysis.view import view_of
    from fitdoctor.prediction.pipeline_plan import plan_for
    from fitdoctor.recording.reader import read_recording

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "fitdoctor", "run", str(case.slow)],
            env={**os.environ, **case.environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            cwd=folder,
            timeout=LIMIT_S,
            check=False,
        )
        recording = read_recording(next((Path(folder) / ".fitdoctor").glob("*.rec")))
    for workload in recording.workloads:
        view = view_of(recording, workload)
        plan = plan_for(view) if view is not None else None
        if plan is not None:
            return {**asdict(plan), "sentence": plan.sentence()}
    return None


def _line(row: dict[str, Any]) -> str:
    if "median" not in row:
        return f"{row['case']:>5}  failed: {row['error']}"
    rate = row["median"]
    base, expert, planned_rate = rate["as_written"], rate.get("expert"), rate.get("planned")
    parts = [f"{row['case']:>5}  as written {base:10.0f} rows/s"]
    names = [name for name in ("autotune", "planned", "expert") if name in rate]
    parts += [f"{name} {rate[name] / base:6.2f}x" for name in names]
    if expert and planned_rate:
        parts.append(f"planned/expert {planned_rate / expert:.2f}")
    return "  ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
