"""What array code gains over Python loops, on bodies of loaders as people write them.

    python -m benchmarks.vectorising [--rounds 5]

IN001's price for a loader whose code fitdoctor cannot rewrite rests on these ratios: their middle
is the value, their range the interval.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

RESULT = Path(__file__).parent / "results" / "vectorising.json"
ENOUGH_S = 0.2

rng = np.random.default_rng(0)
IMAGES = rng.integers(0, 256, size=(8, 32, 32, 3), dtype="uint8")
SERIES = rng.normal(size=50_000)
STARTS = rng.integers(0, 49_000, size=32)
WORDS = rng.integers(0, 5000, size=(4, 1000))
WEIGHTS = rng.integers(0, 8, size=(5000, 20))
ROWS = rng.normal(size=(64, 40))
LABELS = rng.integers(0, 10, size=256)
POINTS = rng.normal(size=(128, 3))


def pixels_in_python() -> Any:
    out = np.empty(IMAGES.shape, "float32")
    for n in range(len(IMAGES)):
        for row in range(32):
            for column in range(32):
                out[n, row, column] = IMAGES[n, row, column] / 255.0
    return out


def pixels() -> Any:
    return IMAGES.astype("float32") / 255.0


def windows_in_python() -> Any:
    found = []
    for start in STARTS:
        first = SERIES[start]
        found.append([(SERIES[start + k] - first) / 10.0 for k in range(128)])
    return np.array(found, "float32")


def windows() -> Any:
    chosen = SERIES[STARTS[:, None] + np.arange(128)]
    return ((chosen - chosen[:, :1]) / 10.0).astype("float32")


def word_scores_in_python() -> Any:
    weights, found = WEIGHTS.tolist(), []
    for document in WORDS.tolist():
        scores = [0] * 20
        for word in document:
            for topic, weight in enumerate(weights[word]):
                scores[topic] += weight
        found.append(scores)
    return np.array(found)


def word_scores() -> Any:
    return WEIGHTS[WORDS].sum(axis=1)


def normalised_in_python() -> Any:
    found = []
    for row in ROWS.tolist():
        mean = sum(row) / len(row)
        spread = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row))
        found.append([(value - mean) / spread for value in row])
    return np.array(found)


def normalised() -> Any:
    return (ROWS - ROWS.mean(axis=1, keepdims=True)) / ROWS.std(axis=1, keepdims=True)


def one_hot_in_python() -> Any:
    found = []
    for label in LABELS.tolist():
        row = [0.0] * 10
        row[label] = 1.0
        found.append(row)
    return np.array(found)


def one_hot() -> Any:
    return np.eye(10)[LABELS]


def distances_in_python() -> Any:
    points = POINTS.tolist()
    return np.array(
        [
            [math.sqrt(sum((a - b) ** 2 for a, b in zip(p, q, strict=True))) for q in points]
            for p in points
        ]
    )


def distances() -> Any:
    return np.sqrt(((POINTS[:, None] - POINTS[None]) ** 2).sum(axis=-1))


PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "pixels scaled one by one": (pixels_in_python, pixels),
    "windows of a series": (windows_in_python, windows),
    "word scores summed": (word_scores_in_python, word_scores),
    "rows normalised": (normalised_in_python, normalised),
    "labels one-hot": (one_hot_in_python, one_hot),
    "pairwise distances": (distances_in_python, distances),
}


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rows = []
    for name, (slow, fast) in PAIRS.items():
        np.testing.assert_allclose(slow(), fast(), rtol=1e-4, atol=1e-5)
        ratios = [seconds(slow) / seconds(fast) for _ in range(rounds)]
        rows.append({"name": name, "ratio": statistics.median(ratios), "ratios": ratios})
        print(f"{name:28} {rows[-1]['ratio']:7.1f}x", flush=True)
    middle = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
    print(f"geometric mean {middle:.0f}x")
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    report = {"date": str(date.today()), "machine": machine, "geometric_mean": middle, "rows": rows}
    RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def seconds(function: Callable[[], Any]) -> float:
    """Of one call, over many."""
    count, begin = 0, time.perf_counter()
    while (taken := time.perf_counter() - begin) < ENOUGH_S:
        function()
        count += 1
    return taken / count


if __name__ == "__main__":
    sys.exit(main())
