"""One side of a comparison: what a recording or a JSON report says of each workload."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import RecordingError
from fitdoctor.intervals import Interval

REPORT_SCHEMA = 1


@dataclass(frozen=True)
class Measured:
    """One workload; times in nanoseconds per step, None where not measured."""

    kind: str
    place: str  # file and line, without its folder; empty where not known
    step: Interval | None
    ceiling_ns: float | None
    parts: dict[str, float] | None
    verdict: str
    findings: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it is, and where."""
        return f"{self.kind} ({self.place or 'place not known'})"


@dataclass(frozen=True)
class Side:
    """All workloads of one recording or report."""

    name: str
    workloads: tuple[Measured, ...]


def read_side(path: Path) -> Side:
    """Read a recording (.rec) or a JSON report.

    Raises:
        RecordingError: It is missing, or neither of the two.
    """
    if path.suffix.lower() != ".json":
        from fitdoctor.contract.reader import read_recording
        from fitdoctor.diagnosis import diagnose
        from fitdoctor.report.machine import to_json

        return side_of(str(path), to_json(diagnose(read_recording(path))))
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _not_a_report(path, error.strerror or str(error)) from error
    except ValueError as error:
        raise _not_a_report(path, "it is not JSON") from error
    if not isinstance(report, dict) or not isinstance(report.get("workloads"), list):
        raise _not_a_report(path, "it has no workloads")
    if report.get("schema") != REPORT_SCHEMA:
        raise _not_a_report(path, f"its schema is {report.get('schema')!r}, not {REPORT_SCHEMA}")
    try:
        return side_of(str(path), report)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _not_a_report(path, f"a workload in it is not valid ({error})") from error


def side_of(name: str, report: dict[str, Any]) -> Side:
    """A side from a report's data."""
    return Side(name, tuple(_measured(workload) for workload in report["workloads"]))


def _measured(workload: dict[str, Any]) -> Measured:
    where = workload.get("where") or {}
    place = f"{os.path.basename(str(where['file']))}:{where['line']}" if where else ""
    breakdown = workload.get("breakdown") or []
    parts = {str(row["part"]): float(row["ns_per_step"] or 0) for row in breakdown}
    ceiling = workload.get("ceiling") or {}
    return Measured(
        kind=str(workload["kind"]),
        place=place,
        step=_step(workload, parts),
        ceiling_ns=_number(ceiling.get("step_ns")),
        parts=parts or None,
        verdict=str(workload["verdict"]),
        findings=tuple(str(finding["rule"]) for finding in workload.get("findings", ())),
    )


def _step(workload: dict[str, Any], parts: dict[str, float]) -> Interval | None:
    cost = workload.get("cost_ns") or {}
    value, low, high = (_number(cost.get(key)) for key in ("value", "low", "high"))
    if value is not None and low is not None and high is not None:
        return Interval(value, low, high)
    total = sum(parts.values())
    return Interval.exact(total) if total > 0 else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _not_a_report(path: Path, reason: str) -> RecordingError:
    return RecordingError(
        f"{path} cannot be compared: {reason}",
        expected="a .rec file of `fitdoctor run`, or a report that -o report.json wrote",
        advice="fitdoctor run -o report.json train.py",
    )
