"""The same script again and again: how often does the first finding stay?

    python -m benchmarks.repeats FOLDER... [--times 5] [--budget 30] [--result FILE]

Each FOLDER holds a `train.py`. A script is stable where all runs name the same rule first, or all
say that it is healthy. Rows are kept from call to call.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.examined import commit, examined
from casebook.judge import dominant_findings

RESULT = Path(__file__).parent / "results" / "repeats.json"


def main() -> int:
    """Run them in turn, so that a slow hour of the machine meets all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--budget", default="30", help="seconds, as in `fitdoctor run`")
    parser.add_argument("--result", type=Path, default=RESULT)
    options = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    if options.result.exists():
        rows = {row["script"]: row for row in json.loads(options.result.read_text())["rows"]}
    runs: dict[str, list[dict[str, Any]]] = {str(folder): [] for folder in options.folders}
    for _ in range(options.times):
        for folder in options.folders:
            seen = runs[str(folder)]
            seen.append(_outcome(folder, options.budget))
            print(f"{folder.name:<24} {seen[-1]['first']}", flush=True)
            rows[folder.name] = _row(folder.name, seen)
            _write(options.result, rows)
    for row in rows.values():
        print(f"{row['stays']} of {row['runs']}  {row['script']:<24} {row['outcomes']}")
    kept = sum(row["stays"] for row in rows.values())
    print(f"the first finding stayed in {kept} of {sum(row['runs'] for row in rows.values())} runs")
    return 0


def _outcome(folder: Path, budget: str) -> dict[str, Any]:
    report, error = examined(folder, None, "--budget", budget)
    if report is None:
        return {"first": error, "gain": None}
    findings = dominant_findings(report["workloads"])
    if findings:
        return {"first": findings[0]["rule"], "gain": findings[0]["gain"]["ratio"]}
    longest = max(report["workloads"], key=lambda one: one["total_ns"])
    return {"first": longest["verdict"], "gain": None}


def _row(script: str, seen: list[dict[str, Any]]) -> dict[str, Any]:
    outcomes = Counter(one["first"] for one in seen)
    return {
        "script": script,
        "runs": len(seen),
        "stays": outcomes.most_common(1)[0][1],
        "outcomes": dict(outcomes),
        "gains": [one["gain"] for one in seen],
        "commit": commit(),
        "date": str(date.today()),
        "machine": f"{os.cpu_count()} cores, {platform.platform()}",
    }


def _write(path: Path, rows: dict[str, dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": list(rows.values())}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
