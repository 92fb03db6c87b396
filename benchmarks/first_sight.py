"""Scripts that fitdoctor was not made for: its first verdict on each, set beside the truth.

    python -m benchmarks.first_sight FOLDER [--only NAME ...] [--result FILE]

FOLDER holds one folder per script, at any depth: `train.py`, and `truth.json` with `healthy`,
`cause` (words), `accept` (rule codes that name that cause, written down before the first run),
`kind`, `backend`, and the measured `ms_per_step_slow` and `ms_per_step_fixed`. Rows are kept from
run to run, each with its commit; a script is run again only when it is named by --only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.examined import commit, examined
from casebook.judge import dominant_findings

SHOWN_RULES = 3


def main() -> int:
    """Run what has no row yet, print one line for each, and the score."""
    options = _parser().parse_args()
    rows: dict[str, dict[str, Any]] = {}
    if options.result.exists():
        rows = {row["script"]: row for row in json.loads(options.result.read_text())["rows"]}
    for path in sorted(options.folder.rglob("truth.json")):
        name = str(path.parent.relative_to(options.folder))
        if options.only and name not in options.only:
            continue
        if name not in rows or options.only:
            rows[name] = _row(name, path.parent, options.keep)
            _write(options.result, rows)
        print(_line(rows[name]), flush=True)
    print(_score(list(rows.values())))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="folder for recordings and screens")
    return parser


def _row(name: str, folder: Path, keep: Path | None) -> dict[str, Any]:
    truth = json.loads((folder / "truth.json").read_text())
    begin = time.monotonic()
    report, error = examined(folder, None if keep is None else keep / name)
    row = {
        "script": name,
        **{key: truth.get(key) for key in ("kind", "backend", "healthy", "cause", "accept")},
        "expert": _expert(truth),
        "seconds": round(time.monotonic() - begin),
        "commit": commit(),
        "date": str(date.today()),
        "machine": f"{os.cpu_count()} cores, {platform.platform()}",
    }
    if report is None:
        return {**row, "verdict": None, "error": error, "is_right": False}
    workloads = report["workloads"]
    findings = dominant_findings(workloads)
    main_one = max(workloads, key=lambda one: one["total_ns"], default={})
    seen = {
        "verdict": main_one.get("verdict"),
        "findings": [_short(one) for one in findings[:SHOWN_RULES]],
        "health": [one["message"] for one in main_one.get("health", [])],
    }
    return {**row, **seen, "is_right": _is_right(truth, seen)}


def _short(finding: dict[str, Any]) -> dict[str, Any]:
    where = finding.get("where") or {}
    return {
        "rule": finding["rule"],
        "line": where.get("line"),
        "gain": finding.get("gain"),
        "message": finding["message"],
    }


def _is_right(truth: dict[str, Any], seen: dict[str, Any]) -> bool:
    first = seen["findings"][0]["rule"] if seen["findings"] else None
    if truth["healthy"]:
        return first is None and seen["verdict"] in ("at-ceiling", "compute-bound")
    return first in truth.get("accept", [])


def _expert(truth: dict[str, Any]) -> float | None:
    slow, fixed = truth.get("ms_per_step_slow"), truth.get("ms_per_step_fixed")
    return round(slow / fixed, 2) if slow and fixed else None


def _write(path: Path, rows: dict[str, dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": list(rows.values())}, indent=1) + "\n")


def _line(row: dict[str, Any]) -> str:
    mark = "ok  " if row["is_right"] else "MISS"
    found = []
    for one in row.get("findings", []):
        gain = one["gain"]
        found.append(f"{one['rule']} {gain['ratio']:.3g}x {gain['how']}" if gain else one["rule"])
    truth = "healthy" if row["healthy"] else f"{row['accept']} {row['expert']}x"
    return (
        f"{mark} {row['script']:<8} {row['kind']:<5} {row['backend']:<10} {row['seconds']:>4} s  "
        f"{row['verdict']!s:<14} {'; '.join(found) or '-'}   | {truth} {str(row['cause'])[:70]}"
    )


def _score(rows: list[dict[str, Any]]) -> str:
    slow = [row for row in rows if not row["healthy"]]
    healthy = [row for row in rows if row["healthy"]]
    called_healthy = sum(row["verdict"] == "at-ceiling" for row in slow)
    alarms = sum(bool(row.get("findings")) for row in healthy)
    not_judged = sum(row["verdict"] in (None, "not-judged") for row in rows)
    return (
        f"{sum(row['is_right'] for row in slow)} of {len(slow)} causes named first, "
        f"{sum(row['is_right'] for row in healthy)} of {len(healthy)} healthy; "
        f"{called_healthy} slow called healthy, {alarms} false alarms, {not_judged} not judged"
    )


if __name__ == "__main__":
    sys.exit(main())
