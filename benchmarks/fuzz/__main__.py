"""Damaged recordings through reader, rules, screen, JSON, page and exports.

    python -m benchmarks.fuzz [--count 100000] [--seed 1] [--recordings DIR] [--keep DIR]

Recordings are small: made here with every probe result, and cut down from real ones. Each gets one
to four things wrong: flipped and cut bytes, wrong types, absurd and missing values, shuffled and
doubled lines, loops of parents, times that stand still. Whatever is wrong, a recording is either
refused in one line or reported with a warning: a traceback is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from benchmarks.fuzz.chain import Tally, run_one
from benchmarks.fuzz.damage import damaged
from benchmarks.fuzz.seeds import all_seeds

RESULT = Path(__file__).parents[1] / "results" / "fuzz.json"
# Perfetto traces and shared reports are made of every tenth recording only: they are slow.
EXPORT_EVERY = 10
SAY_EVERY = 5000
# On a disk, writing a recording takes as long as reading and judging it.
_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


def main() -> int:
    """Run, print, write."""
    options = _parser().parse_args()
    began = time.monotonic()
    tally = fuzz(options.count, options.seed, options.recordings, options.keep, say=True)
    seconds = time.monotonic() - began
    print(_table(tally, seconds))
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    result = {
        "commit": _commit(),
        "date": str(date.today()),
        "machine": machine,
        "seed": options.seed,
        "count": tally.count,
        "failures": sum(tally.failures.values()),
        "by_place": tally.failures,
        "refused": tally.refused,
        "damaged": tally.damaged,
        "with_findings": tally.findings,
        "seconds": round(seconds, 1),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if tally.failures else 0


def fuzz(
    count: int,
    seed: int,
    recordings: Path | None = None,
    keep: Path | None = None,
    *,
    say: bool = False,
) -> Tally:
    """Damage and read so many recordings.

    Args:
        count: How many.
        seed: The same number gives the same recordings.
        recordings: A folder with more recordings to damage.
        keep: A folder for the first recording of each failure.
        say: Print how far it is.
    """
    seeds, tally = all_seeds(recordings), Tally()
    with tempfile.TemporaryDirectory(prefix="fitdoctor-fuzz-", dir=_MEMORY) as folder:
        path = Path(folder) / "damaged.rec"
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            path.write_bytes(damaged(rng.choice(seeds), rng))
            known = len(tally.failures)
            run_one(path, tally, exports=number % EXPORT_EVERY == 0)
            if keep is not None and len(tally.failures) > known:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{number}.rec").write_bytes(path.read_bytes())
            if say and (number + 1) % SAY_EVERY == 0:
                print(f"{number + 1:,}: {sum(tally.failures.values())} tracebacks", flush=True)
    return tally


def _table(tally: Tally, seconds: float) -> str:
    rows = sorted(tally.failures.items(), key=lambda row: -row[1])
    lines = [f"{count:>7}  {place}" for place, count in rows]
    for place, _ in rows[:3]:
        lines += ["", tally.examples[place]]
    lines += [
        f"{tally.count:,} damaged recordings in {seconds:.0f} s: {tally.refused:,} refused in one "
        f"line, {tally.damaged:,} read with records left out, {tally.findings:,} with findings, "
        f"{sum(tally.failures.values()):,} tracebacks"
    ]
    return "\n".join(lines)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--recordings", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the first recording of each failure")
    return parser


if __name__ == "__main__":
    sys.exit(main())
