"""`fitdoctor prove X X`: how often the same script is called faster than itself.

    python -m benchmarks.same_against_same [--runs 10] [--busy] [--most N] [CASE ...]

Ten scripts of the casebook, each proven against a copy of itself `--runs` times, or with `--busy`
beside a process that keeps one core busy. A run trains for a second, and a proof takes about a
minute. The result is resumable: what has a row for this commit, case, number and load is not run
again, and `--most` ends after so many proofs. A false proof is the verdict `proven` (or `slower`:
the other side); of 100 proofs, about 5 may be wrong either way, as the 95 % interval promises.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.examined import commit
from casebook.case import Case, load_all
from casebook.process import last_line, run_process

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "same_against_same.json"
# Fits and loops, on three backends; short steps, whose noise is the largest.
CASES = (
    "S06",
    "S22",
    "S24",
    "S25",
    "S33",
    "S09_jax",
    "S23",
    "S06_torch",
    "S33_torch",
    "A03",
)
BUDGET = ("--window", "1", "--budget", "90", "--max-runs", "8", "--no-check")
LIMIT_S = 240.0
# It never sleeps: on two cores, half of the machine is gone.
NEIGHBOUR = "while True: sum(i * i for i in range(10**6))"

Row = dict[str, Any]
Key = tuple[str, int, bool, str]


def main() -> int:
    """Run what has no row yet, and print the score."""
    options = _parser().parse_args()
    rows = json.loads(options.output.read_text("utf-8"))["rows"] if options.output.exists() else []
    missing = list(still_to_do(rows, options.cases or CASES, options.runs, options.busy, commit()))
    cases = load_all(ROOT / "casebook")
    for case, number in missing[: options.most]:
        rows.append(_row(cases[case], number, busy=options.busy))
        text = json.dumps({"score": score(rows), "rows": rows}, indent=1)
        options.output.write_text(text + "\n", encoding="utf-8")
        print(_line(rows[-1]), flush=True)
    for line in score(rows):
        print(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--runs", type=int, default=10, help="proofs of each script")
    parser.add_argument("--busy", action="store_true", help="beside a busy process")
    parser.add_argument("--most", type=int, help="proofs to run now")
    parser.add_argument("--output", type=Path, default=RESULT)
    return parser


def still_to_do(
    rows: Sequence[Row], cases: Sequence[str], runs: int, busy: bool, now: str
) -> Iterator[tuple[str, int]]:
    """Cases in turn, so that an early end has some of each."""
    done = {(row["case"], row["number"], row["busy"], row["commit"]) for row in rows}
    for number in range(runs):
        for case in cases:
            if (case, number, busy, now) not in done:
                yield case, number


def _row(case: Case, number: int, *, busy: bool) -> Row:
    with tempfile.TemporaryDirectory(prefix=f"same-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, *case.modules):
            shutil.copy(script, folder / script.name)
        (folder / "other.py").write_bytes((folder / "slow.py").read_bytes())
        out = folder / "proof.json"
        command = [*case.launcher, sys.executable, "-m", "fitdoctor", "prove", "-q", *BUDGET]
        command += ["-o", str(out), "slow.py", "other.py"]
        with _neighbour() if busy else contextlib.nullcontext():
            done = run_process(command, folder=folder, env=case.environment, timeout_s=LIMIT_S)
        proof = json.loads(out.read_text("utf-8")) if out.exists() else None
        return {
            "case": case.id,
            "backend": case.backend,
            "number": number,
            "busy": busy,
            "verdict": None if proof is None else proof["verdict"],
            "reason": last_line(done.stderr) if proof is None else proof["reason"],
            **{key: None if proof is None else proof[key] for key in ("ratio", "low", "high")},
            "pairs": None if proof is None else proof["pairs"],
            "seconds": round(done.seconds, 1),
            "commit": commit(),
            "date": str(date.today()),
            "machine": f"{os.cpu_count()} cores, {platform.platform()}",
        }


@contextlib.contextmanager
def _neighbour() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def score(rows: Sequence[Row]) -> list[str]:
    """A line for each commit and load: versions are never mixed."""
    lines = []
    for now, busy in sorted({(row["commit"], row["busy"]) for row in rows}):
        chosen = [row for row in rows if (row["commit"], row["busy"]) == (now, busy)]
        verdicts = Counter(row["verdict"] or "no proof" for row in chosen)
        words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        where = "beside a busy process" if busy else "alone"
        lines.append(f"{now} {where}: {len(chosen)} proofs of a script against itself: {words}")
    return lines


def _line(row: Row) -> str:
    ratio = "-" if row["ratio"] is None else f"{row['ratio']:.3f} ({row['low']}-{row['high']})"
    load = "busy" if row["busy"] else "alone"
    return f"{row['case']:10} {row['number']:>3} {load:5} {row['verdict']!s:11} {ratio}"


if __name__ == "__main__":
    sys.exit(main())
