"""The result of `fitdoctor prove`, read from its JSON file."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.intervals import Interval

VERDICTS = {
    "proven": "Proven",
    "not-proven": "Not proven",
    "slower": "Slower",
    "invalid": "Not valid",
}


@dataclass(frozen=True)
class Proof:
    """Before against after, measured in turn."""

    verdict: str
    ratio: Interval | None
    predicted: Interval | None
    runs: int | None
    data_stream: str
    learning: str
    detail: str
    before_ns: float | None = None  # a step
    after_ns: float | None = None


def read_proof(path: Path) -> Proof:
    """Read and check a proof.

    Raises:
        UsageError: It is missing, or not a proof.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _not_a_proof(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _not_a_proof(path, "it is not JSON") from error
    if not isinstance(data, dict) or data.get("verdict") not in VERDICTS:
        raise _not_a_proof(path, f"its verdict is none of {', '.join(VERDICTS)}")
    equivalence = data.get("equivalence")
    words = equivalence if isinstance(equivalence, dict) else {}
    runs = data.get("runs")
    step = data.get("step_ns")
    steps = step if isinstance(step, dict) else {}
    return Proof(
        verdict=str(data["verdict"]),
        ratio=_interval(data),
        predicted=_interval(data.get("predicted")),
        runs=runs if isinstance(runs, int) else None,
        data_stream=str(words.get("data_stream", "not-checked")),
        learning=str(words.get("learning", "not-checked")),
        detail=str(words.get("detail", "")),
        before_ns=_time(steps.get("before")),
        after_ns=_time(steps.get("after")),
    )


def _time(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value > 0 else None


def _interval(data: Any) -> Interval | None:
    if not isinstance(data, dict):
        return None
    numbers = [data.get(key) for key in ("ratio", "low", "high")]
    known = [float(n) for n in numbers if isinstance(n, int | float) and math.isfinite(n)]
    if len(known) < 3 or not known[1] <= known[0] <= known[2]:
        return None
    return Interval(known[0], known[1], known[2])


def _not_a_proof(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path} cannot be read as a proof: {reason}",
        expected="the JSON file that `fitdoctor prove` writes",
        advice="fitdoctor prove -o proof.json train.py",
    )
