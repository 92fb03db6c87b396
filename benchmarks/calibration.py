"""How right the predicted gains were, and the intervals that follow from it.

    python -m benchmarks.calibration [--check]

Reads every prediction of `benchmarks/results/` that was followed by a proven gain: the cures of
`benchmarks.cures`, the cases of `casebook*.json` (as they were run, before anything was changed
with them in view), the trials of `benchmarks.trials`, and the unseen scripts of
`first_sight*.json` beside the gain of an expert. Writes the widths that ship with the package
(`src/fitdoctor/pricing/calibration.json`), `benchmarks/results/calibration.json`, and
`docs/calibration.md`. With --check nothing is written: exit code 1 where a file is out of date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.calibration_page import page
from benchmarks.calibration_tables import coverage
from benchmarks.scored_history import Scored, history, unseen
from fitdoctor.pricing.scores import ENOUGH, SCRIPT, half_width

ROOT = Path(__file__).parents[1]
LEVEL = 0.9
TABLE = ROOT / "src" / "fitdoctor" / "pricing" / "calibration.json"
RESULT = ROOT / "benchmarks" / "results" / "calibration.json"
PAGE = ROOT / "docs" / "calibration.md"


def main() -> int:
    """Print the table and write it, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    made = files(history(), unseen())
    sys.stdout.write(made[PAGE])
    old = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    for path in old:
        sys.stderr.write(f"{'out of date' if check else 'wrote'}: {path.relative_to(ROOT)}\n")
        if not check:
            path.write_text(made[path], encoding="utf-8")
    return int(check and bool(old))


def files(scored: Sequence[Scored], experts: Sequence[Scored]) -> dict[Path, str]:
    """Everything that is made from the history, by path; the same history gives the same text."""
    rows = coverage(scored)
    groups = widths(scored)
    dates = sorted({one.date for one in scored})
    shipped = {"level": LEVEL, "rows": len(scored), "dates": [dates[0], dates[-1]]}
    return {
        TABLE: _text({**shipped, "groups": groups}),
        RESULT: _text(
            {
                **shipped,
                "commits": sorted({one.commit for one in scored}),
                "coverage": rows,
                "unseen": coverage(experts, known=scored),
                "scores": [one.to_json() for one in (*scored, *experts)],
            }
        ),
        PAGE: page(scored, experts, rows, groups),
    }


def widths(scored: Sequence[Scored], level: float = LEVEL) -> list[dict[str, Any]]:
    """The width of each rule and kind of gain; "" for all rules, and for all kinds but scripts."""
    scores: dict[tuple[str, str], list[float]] = {}
    for one in scored:
        kinds = {one.how} if one.how == SCRIPT else {one.how, ""}
        for rule in (one.rule, ""):
            for kind in kinds:
                scores.setdefault((rule, kind), []).append(one.score)
    found = []
    for (rule, kind), values in sorted(scores.items()):
        enough = not rule or len(values) >= ENOUGH
        half = half_width(values, level) if enough else None
        half = None if half is None else round(half, 4)
        found.append({"rule": rule, "how": kind, "cases": len(values), "half_width": half})
    return found


def _text(report: dict[str, Any]) -> str:
    return json.dumps(report, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
