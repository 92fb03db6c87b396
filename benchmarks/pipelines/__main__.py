"""Input pipelines of published work, in small: tf.data as written, with AUTOTUNE, and ours; others.

    python -m benchmarks.pipelines [--only NAME ...] [--rounds 5] [--seconds 1.5]

The pipelines follow what is published of cedar's CV, SSD, NLP and ASR, Plumber's ResNet and text,
and DLIO's unet3d and resnet50 (MLPerf Storage), with data generated on the fly. Each is read
without a model in tf.data as written (`naive`), with AUTOTUNE on every stage and a prefetch
(`autotune`), as `fitdoctor.speedup` makes it from the naive one (`ours`), by a torch DataLoader
with a worker per core, and by grain's threads. Ray Data is left out: a cluster of processes for
each would take longer than all the rest.

One process per framework stays open; in each round every loader is read in turn, in another order
each time. Rates are samples per second, with a 90 % interval from the rounds. Files are read from
a warm page cache. `same` says what one pass of `ours` has in common with the naive pipeline: the
elements and their order, or, where the pipeline draws random numbers, the ids of the samples.
Results are written after every pipeline, and kept for those that are not asked for.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "pipelines.json"
NAMES = (
    "cedar_cv",
    "cedar_ssd",
    "cedar_nlp",
    "cedar_asr",
    "plumber_resnet",
    "plumber_text",
    "dlio_unet3d",
    "dlio_resnet50",
)
KINDS = ("tf.data", "torch", "grain")
READERS = ("naive", "autotune", "ours", "torch", "grain")


def main() -> int:
    """Measure, write after each, print the table."""
    options = _parser().parse_args()
    rows = _kept()
    for name in options.only or NAMES:
        rows[name] = measured(name, options.rounds, options.seconds)
        _write(rows)
        print(_line(name, rows[name]), flush=True)
    print(_summary(rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=NAMES, metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    return parser


def _kept() -> dict[str, Any]:
    return json.loads(RESULT.read_text(encoding="utf-8"))["rows"] if RESULT.exists() else {}


def _write(rows: dict[str, Any]) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    found = {"commit": commit, "date": str(date.today()), "machine": machine, "rows": rows}
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured(name: str, rounds: int, seconds: float) -> dict[str, Any]:
    """The rates of one pipeline in every loader, round by round."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix=f"pipeline-{name}-") as folder:
        importlib.import_module(f"benchmarks.pipelines.{name}").prepare(Path(folder))
        workers: dict[str, subprocess.Popen[str]] = {}
        try:
            facts, rates, failed = _rounds(name, folder, workers, rounds, seconds)
        finally:
            for worker in workers.values():
                worker.kill()
                worker.wait()
    row = {"date": str(date.today()), "seconds": time.perf_counter() - begin, **facts}
    return {**row, "rates": rates, "failed": failed}


def _rounds(
    name: str, folder: str, workers: dict[str, Any], rounds: int, seconds: float
) -> tuple[dict[str, Any], dict[str, list[float]], dict[str, str]]:
    facts: dict[str, Any] = {}
    failed: dict[str, str] = {}
    owners: dict[str, Any] = {}
    for kind in KINDS:
        # One after the other: what a planner measures must not run beside the others' start.
        worker = workers[kind] = _started(name, kind, folder)
        answer = _answer(worker)
        if answer is None:
            failed[kind] = _last_error(folder, kind)
            continue
        owners |= dict.fromkeys(answer.pop("readers"), worker)
        facts |= answer
    rates: dict[str, list[float]] = {reader: [] for reader in owners}
    for number in range(rounds):
        order = sorted(owners)
        random.Random(number).shuffle(order)
        for reader in order:
            request = json.dumps({"reader": reader, "seconds": seconds})
            print(request, file=owners[reader].stdin, flush=True)
            rate = _answer(owners[reader])
            if rate is not None:
                rates[reader].append(rate)
    return facts, rates, failed


def _started(name: str, kind: str, folder: str) -> Any:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    with (Path(folder) / f"{kind}.err").open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.pipelines.worker", name, kind, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env=environment,
        )


def _answer(worker: Any) -> Any:
    line = worker.stdout.readline()
    return json.loads(line) if line else None


def _last_error(folder: str, kind: str) -> str:
    lines = (Path(folder) / f"{kind}.err").read_text(encoding="utf-8").strip().splitlines()
    return lines[-1] if lines else "it ended without a word"


def interval(rates: list[float]) -> tuple[float, float, float]:
    """The median of the rounds, and the range that 90 % of resampled medians lie in."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(rates, k=len(rates))) for _ in range(999))
    return statistics.median(rates), medians[49], medians[949]


def _line(name: str, row: dict[str, Any]) -> str:
    parts = []
    for reader in READERS:
        rates = row["rates"].get(reader)
        if not rates:
            parts.append(f"{reader} {'-':>18}")
            continue
        middle, low, high = interval(rates)
        parts.append(f"{reader} {middle:7.0f} ({low:.0f}-{high:.0f})")
    applied = ", ".join(row.get("applied", [])) or "nothing"
    planning = row.get("planning_s", math.nan)
    return f"{name:<15} {'  '.join(parts)}  [{applied}; {planning:.0f} s; {row.get('same')}]"


def _summary(rows: dict[str, Any]) -> str:
    """Ours over AUTOTUNE, and over the best of all others."""
    over, best = [], []
    for row in rows.values():
        middles = {name: statistics.median(rates) for name, rates in row["rates"].items() if rates}
        ours = middles.pop("ours", None)
        if ours is None or "autotune" not in middles:
            continue
        over.append(ours / middles["autotune"])
        best.append(ours / max(middles.values()))
    if not over:
        return "nothing was measured"
    mean, least = statistics.geometric_mean(over), min(over)
    return (
        f"ours over AUTOTUNE: {mean:.2f}x in the geometric mean, {least:.2f}x at least; over the "
        f"best of the others: {statistics.geometric_mean(best):.2f}x, {min(best):.2f}x at least"
    )


if __name__ == "__main__":
    sys.exit(main())
