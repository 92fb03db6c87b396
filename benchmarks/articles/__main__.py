"""Run the claims, each backend of each file in a process of its own, and write the results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.articles.claim import Claim, Seen
from benchmarks.articles.neighbours import Neighbours
from benchmarks.articles.registry import MODULES, all_claims, claims_of
from benchmarks.articles.timing import in_turn, speeds

RESULT = Path(__file__).parents[1] / "results" / "articles.json"
CHILD_TIMEOUT_S = 900
# Cores that others used in the middle: from here on a reader must know.
DISTURBED = 0.4


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="ids of claims, or how they begin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--list", action="store_true")
    parser.add_argument(
        "--missing", action="store_true", help="only what has no result, or a disturbed one"
    )
    parser.add_argument("--child", nargs=2, metavar=("MODULE", "BACKEND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        for claim in all_claims():
            print(f"{claim.id:<24} {claim.says}")
        return 0
    if options.child:
        return _child(*options.child, options.ids, options.rounds)
    rows = {row["id"] + row["backend"]: row for row in _stored()}
    done = {key for key, row in rows.items() if not _is_disturbed(row)}
    for module in MODULES:
        for backend in ("tensorflow", "jax", "torch"):
            wanted = [
                claim.id
                for claim in claims_of(module)
                if _runs(claim, backend, options.ids)
                and not (options.missing and claim.id + backend in done)
            ]
            if wanted:
                for row in _measured(module, backend, wanted, options.rounds):
                    rows[row["id"] + row["backend"]] = row
                    print(line(row), flush=True)
                _write(list(rows.values()))
    return 0


def _runs(claim: Claim, backend: str, ids: list[str]) -> bool:
    asked = not ids or any(claim.id.startswith(start) for start in ids)
    return asked and claim.measure is not None and backend in claim.backends


def _measured(module: str, backend: str, ids: list[str], rounds: int) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.articles", "--child", module, backend]
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [*command, "--rounds", str(rounds), *ids],
        env=environment, capture_output=True, text=True, timeout=CHILD_TIMEOUT_S, check=False,
    )  # fmt: skip
    found = [json.loads(text) for text in done.stdout.splitlines() if text.startswith('{"id"')]
    missing = [name for name in ids if name not in {row["id"] for row in found}]
    if missing:
        print(f"{', '.join(missing)} ({backend}): failed\n{done.stderr[-2000:]}", file=sys.stderr)
    return found


def _child(module: str, backend: str, ids: list[str], rounds: int) -> int:
    """Measure in this process, and leave without waiting for threads of the framework."""
    for claim in claims_of(module):
        if claim.id in ids and claim.measure is not None:
            neighbours = Neighbours()
            found = claim.measure()
            row: dict[str, Any] = {"id": claim.id, "backend": backend, "date": str(date.today())}
            if isinstance(found, Seen):
                row["facts"] = found.facts
                row["others_cores"] = round(neighbours.cores(), 2) if found.timed else 0.0
            else:
                seconds, others = in_turn(found.variants, rounds)
                first = next(iter(seconds))
                row |= {"against": first, "seconds": statistics.median(seconds[first])}
                row |= {"speeds": speeds(seconds), "others_cores": round(others, 2)}
            print(json.dumps(row), flush=True)
    sys.stdout.flush()
    os._exit(0)


def line(row: dict[str, Any]) -> str:
    """A result in one line."""
    return f"{row['id']} ({row['backend']}): {words(row)}"


def words(row: dict[str, Any]) -> str:
    """What was measured, in words."""
    notes = ["one round"] if row.get("rounds") == 1 else []
    notes += ["other processes were busy"] if _is_disturbed(row) else []
    disturbed = f" ({', '.join(notes)})" if notes else ""
    if "facts" in row:
        return "; ".join(f"{name}: {fact}" for name, fact in row["facts"].items()) + disturbed
    parts = [f"{name} {_speed(each)}" for name, each in row["speeds"].items()]
    return f"against {row['against']}: " + ", ".join(parts) + disturbed


def _is_disturbed(row: dict[str, Any]) -> bool:
    """By what others used meanwhile; where that was not counted, by what is noted."""
    return bool(row.get("disturbed")) or (row.get("others_cores") or 0.0) > DISTURBED


def _speed(found: dict[str, float]) -> str:
    """`2.1x faster (1.9–2.4)`, or slower, or neither."""
    ratio, low, high = found["ratio"], found["low"], found["high"]
    if low == high:  # a single round
        return f"{_times(ratio)}x faster" if ratio >= 1 else f"{_times(1 / ratio)}x slower"
    if low <= 1 <= high and 0.9 < ratio < 1.1:
        return f"no difference ({_times(low)}–{_times(high)})"
    if ratio >= 1:
        return f"{_times(ratio)}x faster ({_times(low)}–{_times(high)})"
    return f"{_times(1 / ratio)}x slower ({_times(1 / high)}–{_times(1 / low)})"


def _times(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def _stored() -> list[dict[str, Any]]:
    if not RESULT.exists():
        return []
    return list(json.loads(RESULT.read_text(encoding="utf-8")).get("rows", []))


def _write(rows: list[dict[str, Any]]) -> None:
    order = {claim.id: number for number, claim in enumerate(all_claims())}
    known = sorted((row for row in rows if row["id"] in order), key=lambda row: order[row["id"]])
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    text = json.dumps({"machine": machine, "rows": known}, indent=1)
    RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
