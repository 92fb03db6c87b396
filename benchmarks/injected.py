"""Injected truth: known waste in a known place; does the account give it to that place?

    python -m benchmarks.injected [--backend NAME ...] [--place NAME ...] [--ms 6]

The script times its own waste, once per step, so that the truth is known in the very run that
fitdoctor examines: waste / step. (A plain run without the waste would not do: after a sleep the
rest of a step is slower, too.) Only arithmetic inside the compiled step cannot time itself: there
the truth is (with - without) / with, from plain runs in turn. The account's share is the sum of
its rows at that place. Written to `results/injected.json`; --missing measures only absent rows.
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
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.examined import commit

SCRIPT = Path(__file__).with_name("injected_script.py")
RESULT = Path(__file__).parent / "results" / "injected.json"
BACKENDS = ("tensorflow", "jax", "torch")
PLACES = {
    "loader": "input_wait loader_contention",
    "step": "step",
    "callback": "callbacks",
    "validation": "validation",
    "loop_body": "between_calls",
    "loop_loader": "input_wait",
}
KINDS = ("sleep", "arithmetic")
WITHIN = 0.05
ROUNDS = 2
BUDGET_S = 30


def main() -> int:
    """Measure each, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--backend", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--place", nargs="+", choices=list(PLACES), default=list(PLACES))
    parser.add_argument("--ms", type=float, default=6.0)
    parser.add_argument("--missing", action="store_true", help="only rows that are not there yet")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if RESULT.exists():
        rows = json.loads(RESULT.read_text())["rows"]
    for backend in options.backend:
        for place in options.place:
            for kind in KINDS:
                key = [backend, place, kind]
                others = [r for r in rows if [r["backend"], r["place"], r["kind"]] != key]
                if options.missing and len(others) < len(rows):
                    continue
                row = measured(backend, place, kind, options.ms)
                rows = others
                rows.append(row)
                print(_line(row), flush=True)
                _write(rows)
    near = sum(row["is_within"] for row in rows)
    print(f"{near} of {len(rows)} within {WITHIN:.0%} of the step")
    return 0


def measured(backend: str, place: str, kind: str, ms: float) -> dict[str, Any]:
    """The truth, and what the account says."""
    account, wasted_ns = _account(backend, place, kind, ms)
    total = max(1, sum(row["ns_per_step"] for row in account))
    share = sum(row["ns_per_step"] for row in account if _is_at(row, place)) / total
    by_difference = place == "step" and kind == "arithmetic"
    truth = _difference(backend, place, kind, ms) if by_difference else wasted_ns / total
    return {
        "backend": backend,
        "place": place,
        "kind": kind,
        "step_ms": round(total / 1e6, 3),
        "truth": round(truth, 3),
        "account": round(share, 3),
        "is_within": abs(share - truth) <= WITHIN,
        "commit": commit(),
        "date": str(date.today()),
        "rows": [
            {key: row[key] for key in ("part", "what", "ns_per_step", "owner")}
            for row in account[:6]
        ],
    }


def _difference(backend: str, place: str, kind: str, ms: float) -> float:
    """What the waste adds to a step, as its share."""
    pairs = [
        (_plain(backend, "none", kind, ms), _plain(backend, place, kind, ms)) for _ in range(ROUNDS)
    ]
    fast = statistics.median(one for one, _ in pairs)
    slow = statistics.median(one for _, one in pairs)
    return (slow - fast) / slow


def _is_at(row: dict[str, Any], place: str) -> bool:
    if row["part"] not in PLACES[place].split():
        return False
    return place != "step" or "injected" in row["what"]


def _plain(backend: str, place: str, kind: str, ms: float) -> float:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), backend, place, kind, str(ms)],
        env={**os.environ, "INJECTED_PLAIN": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    line = next(one for one in done.stdout.splitlines() if one.startswith("MS_PER_STEP"))
    return float(line.split()[1])


def _account(backend: str, place: str, kind: str, ms: float) -> tuple[list[dict[str, Any]], float]:
    """The account of the training, and what the script says that one waste took."""
    with tempfile.TemporaryDirectory(prefix="injected-") as folder:
        output = Path(folder) / "out.json"
        command = [sys.executable, "-m", "fitdoctor", "run", "-q", "--no-trials"]
        command += ["--budget", str(BUDGET_S), "--json", str(output)]
        command += [str(SCRIPT), backend, place, kind, str(ms)]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, timeout=300
        )
        workloads = json.loads(output.read_text())["workloads"]
    longest = max(workloads, key=lambda one: one["total_ns"])
    found: list[dict[str, Any]] = longest["account"]
    told = [line for line in done.stdout.splitlines() if line.startswith("WASTED_MS")]
    return found, float(told[-1].split()[1]) * 1e6 if told else 0.0


def _line(row: dict[str, Any]) -> str:
    mark = "ok " if row["is_within"] else "OFF"
    return (
        f"{mark} {row['backend']:<10} {row['place']:<11} {row['kind']:<10} "
        f"step {row['step_ms']:>8.2f} ms   "
        f"truth {row['truth']:>6.1%}   account {row['account']:>6.1%}"
    )


def _write(rows: list[dict[str, Any]]) -> None:
    machine = {"cpus": os.cpu_count(), "platform": platform.platform()}
    RESULT.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
