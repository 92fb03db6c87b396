"""What fitdoctor's own cures achieve on the casebook, beside the expert's.

    python -m benchmarks.cures [CASE ...] [--budget 60] [--window 4]

For each case, `fitdoctor run` examines slow.py once; `fitdoctor prove --from` applies the safe
cures (where there are none, the unsafe ones as well) and runs both texts in turn. Then
`fitdoctor fix --apply` writes the cures, and `fitdoctor prove fixed.py cured.py` runs the expert's
script and the cured one side by side: the ratio of their times is the share of the expert's gain
that was reached. Cases whose cure cannot be automatic say why, and are not counted. Rows of cases
that are not asked for are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from casebook.case import Case, load_all
from casebook.process import last_line, run_process

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "cures.json"
LIMIT_S = 600.0
AS_GOOD = 0.9  # of the expert's speed-up

Row = dict[str, Any]


def main() -> int:
    """Measure, print, write; the rows so far are kept when a later case fails."""
    options = _parser().parse_args()
    cases = load_all(ROOT / "casebook")
    here = [case for case in cases.values() if not case.is_healthy and not case.needs]
    names = options.cases or [case.id for case in here]
    rows: dict[str, Row] = _kept()
    for name in names:
        rows[name] = measured(cases[name], options.budget, options.window)
        print(_line(rows[name]), flush=True)
        _write(rows)
    print(_summary(list(rows.values())))
    return 0


def _kept() -> dict[str, Row]:
    if not RESULT.exists():
        return {}
    return {row["id"]: row for row in json.loads(RESULT.read_text(encoding="utf-8"))["rows"]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of each proof")
    parser.add_argument("--window", type=float, default=4.0, help="seconds of training of a run")
    return parser


def measured(case: Case, budget_s: float, window_s: float) -> Row:
    """One case: fitdoctor's cures, then the expert's script."""
    limits = ["--budget", str(budget_s), "--window", str(window_s)]
    with tempfile.TemporaryDirectory(prefix=f"cures-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, case.fixed, *case.modules):
            shutil.copy(script, folder / script.name)
        failed = _examined(case, folder)
        if failed:
            return {"id": case.id, "safe": False, **_facts({"reason": failed})}
        own = _proof(case, folder, ["--from", "slow.rec", *limits, "slow.py"])
        safe = bool(own.get("cures"))
        if not safe:
            unsafe = ["--from", "slow.rec", "--unsafe", "--may-differ"]
            own = _proof(case, folder, [*unsafe, *limits, "slow.py"])
        row: Row = {"id": case.id, "safe": safe, **_facts(own)}
        if not row["cures"] or not _cured(case, folder, safe=safe):
            return row
        beside = _proof(
            case, folder, ["--no-check", "--may-differ", *limits, "fixed.py", "cured.py"]
        )
    row["of_expert"] = _ratio(beside)
    return row


def _cured(case: Case, folder: Path, *, safe: bool) -> bool:
    """Write the cured script beside the others."""
    fix = [sys.executable, "-m", "fitdoctor", "fix", "-q", "--from", "slow.rec", "--apply"]
    finished = run_process(
        [*fix, *(() if safe else ("--unsafe",))],
        folder=folder,
        env=case.environment,
        timeout_s=LIMIT_S,
    )
    (folder / "slow.py").rename(folder / "cured.py")
    return finished.exit_code == 0


def _examined(case: Case, folder: Path) -> str | None:
    """Record slow.py, or why it could not be."""
    run = [sys.executable, "-m", "fitdoctor", "run", "-q", "--output-dir", "rec", "slow.py"]
    finished = run_process(
        [*case.launcher, *run], folder=folder, env=case.environment, timeout_s=LIMIT_S
    )
    recorded = sorted((folder / "rec").glob("*.rec"))
    if recorded:
        recorded[-1].rename(folder / "slow.rec")
        return None
    return "it took too long" if finished.timed_out else last_line(finished.stderr)


def _proof(case: Case, folder: Path, arguments: list[str]) -> Row:
    out = folder / "proof.json"
    out.unlink(missing_ok=True)
    prove = [sys.executable, "-m", "fitdoctor", "prove", "-q", "-o", str(out)]
    finished = run_process(
        [*case.launcher, *prove, *arguments],
        folder=folder,
        env=case.environment,
        timeout_s=LIMIT_S,
    )
    if not out.exists():
        why = "it took too long" if finished.timed_out else last_line(finished.stderr)
        return {"reason": why}
    report: Row = json.loads(out.read_text(encoding="utf-8"))
    return report


def _facts(proof: Row) -> Row:
    return {
        "verdict": proof.get("verdict"),
        "reason": proof.get("reason"),
        "cures": proof.get("cures") or [],
        "achieved": _ratio(proof),
        "predicted": proof.get("predicted"),
        "equivalence": proof.get("equivalence"),
    }


def _ratio(proof: Row) -> Row | None:
    if not proof.get("ratio"):
        return None
    return {name: proof[name] for name in ("ratio", "low", "high")}


def _line(row: Row) -> str:
    if not row["cures"]:
        return f"{row['id']:12} no automatic cure: {row['reason']}"
    achieved, share, predicted = row["achieved"], row.get("of_expert"), row["predicted"]
    same = row["equivalence"] or {}
    return (
        f"{row['id']:12} {'safe' if row['safe'] else 'unsafe':6} {_times(achieved):>8} "
        f"of the expert's {_times(share):>8} predicted {_times(predicted):>8} "
        f"{row['verdict']}, data {same.get('data_stream')}, learning {same.get('learning')}: "
        f"{'; '.join(row['cures'])}"
    )


def _times(gain: Row | None) -> str:
    return "-" if gain is None else f"{gain['ratio']:.2f}x"


def _summary(rows: list[Row]) -> str:
    compared = [row["of_expert"]["ratio"] for row in rows if row.get("of_expert")]
    scored = [row for row in rows if row["achieved"] and row["predicted"]]
    errors = [abs(r["predicted"]["ratio"] / r["achieved"]["ratio"] - 1) for r in scored]
    inside = [
        r["predicted"]["low"] <= r["achieved"]["ratio"] <= r["predicted"]["high"] for r in scored
    ]
    good = sum(one >= AS_GOOD for one in compared)
    lines = [f"{good} of {len(compared)} cases reach {AS_GOOD} of the expert's speed-up"]
    if errors:
        lines.append(
            f"prediction against proof: median error {statistics.median(errors):.0%}, "
            f"{sum(inside)} of {len(inside)} inside the predicted interval"
        )
    return "\n".join(lines)


def _write(rows: dict[str, Row]) -> None:
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    report = {"date": str(date.today()), "machine": machine, "rows": list(rows.values())}
    RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
