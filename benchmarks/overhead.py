"""What recording costs: steps with and without the recorder, in turn, on three backends.

    python -m benchmarks.overhead [--rounds 5] [--backend NAME] [--step-ms 1 10 100]

One process per backend and step length trains two equal models in short fits, one recorded and
one with every patch passing straight through. The ratio of each pair is what counts; the
interval is a bootstrap of their median.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parent / "results" / "overhead.json"
BACKENDS = ("tensorflow", "jax", "torch")
LIMITS = {1: 1.03, 10: 1.01, 100: 1.01}


def main() -> int:
    """Measure, print, write."""
    options = _parser().parse_args()
    rows = []
    for backend in options.backend:
        for step_ms in options.step_ms:
            row = measured(backend, step_ms, options.rounds)
            rows.append(row)
            print(_line(row), flush=True)
    RESULT.parent.mkdir(exist_ok=True)
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    RESULT.write_text(
        json.dumps({"date": str(date.today()), "machine": machine, "rows": rows}, indent=1) + "\n"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="pairs of fits")
    parser.add_argument("--backend", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--step-ms", nargs="+", type=int, default=[1, 10, 100])
    return parser


def measured(backend: str, step_ms: int, rounds: int) -> dict[str, Any]:
    """Ratios of one backend and step length, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.overhead_worker", str(step_ms), str(rounds)],
        env={**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    fits = json.loads(done.stdout.splitlines()[-1])
    pairs = [(plain[0], recorded[0]) for plain, recorded in fits]
    low, middle, high = interval([w / p for p, w in pairs])
    plain = sorted(p for p, _ in pairs)[len(pairs) // 2]
    return {
        "backend": backend,
        "aimed_step_ms": step_ms,
        "step_ms": plain * 1e3,
        "ratio": middle,
        "low": low,
        "high": high,
        "limit": LIMITS.get(step_ms),
        "pairs": pairs,
        "return_s": [(plain[1], recorded[1]) for plain, recorded in fits],
    }


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median ratio with its 90 % bootstrap interval."""
    import numpy as np
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.array(ratios),), np.median, confidence_level=0.9, method="percentile", rng=0
    ).confidence_interval
    return float(found.low), float(np.median(ratios)), float(found.high)


def _line(row: dict[str, Any]) -> str:
    pairs = row["return_s"]
    plain, recorded = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
    return (
        f"{row['backend']:>10}  {row['step_ms']:8.2f} ms/step  "
        f"with/without {row['ratio']:.4f} ({row['low']:.4f} to {row['high']:.4f})  "
        f"return of fit {plain:.3f} s, recorded {recorded:.3f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
