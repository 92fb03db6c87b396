"""The diagnosis as JSON: the contract of DESIGN.md, read by other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fitdoctor.findings.diagnosed import Ceiling, DiagnosedWorkload, Diagnosis, Health, StepTime
from fitdoctor.intervals import Interval

SCHEMA = 1


def to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The report as plain data; numbers that are not finite become null."""
    report = {
        "schema": SCHEMA,
        "fitdoctor": diagnosis.version,
        "script": {"path": diagnosis.script, "argv": list(diagnosis.argv)},
        # Every key is there, null where it is not known.
        "machine": asdict(diagnosis.machine),
        "keras": asdict(diagnosis.keras),
        "overhead": {"recorder_ratio": diagnosis.recorder_ratio},
        "workloads": [_workload(workload) for workload in diagnosis.workloads],
        "joint_gain": _gain(diagnosis.joint_gain),
        "health": _health(diagnosis.health),
        "ended": diagnosis.ended,
        "exit": {"code": diagnosis.exit_code, "signal": diagnosis.exit_signal},
        "recording": diagnosis.recording,
        "start_up": diagnosis.start_up.to_json() if diagnosis.start_up else None,
    }
    finite: dict[str, Any] = _finite(report)
    return finite


def to_text(diagnosis: Diagnosis) -> str:
    """The report as the text of a JSON file."""
    return json.dumps(to_json(diagnosis), indent=2, allow_nan=False) + "\n"


def _workload(workload: DiagnosedWorkload) -> dict[str, Any]:
    return {
        "kind": workload.kind,
        "where": workload.where.to_json() if workload.where else None,
        "calls": workload.calls,
        "steps": workload.steps,
        "steady_steps": workload.steady_steps,
        "total_ns": workload.total_ns,
        "step_ns": _step(workload.step),
        "cost_ns": _cost(workload.cost),
        "breakdown": [
            {"part": part.part, "ns_per_step": _whole(part.ns_per_step), "share": part.share}
            for part in workload.breakdown
        ],
        "ceiling": _ceiling(workload.ceiling),
        "input": workload.input,
        "verdict": workload.verdict,
        "sentence": workload.sentence,
        "findings": [finding.to_json() for finding in workload.findings],
        "joint_gain": _gain(workload.joint_gain),
        "health": _health(workload.health),
        "not_measured": list(workload.not_measured),
        "first_epoch": workload.first_epoch.to_json() if workload.first_epoch else None,
        "stalls": workload.stalls.to_json() if workload.stalls else None,
        "iterator_waits": workload.iterator_waits.to_json() if workload.iterator_waits else None,
        "step_parts": [row.to_json() for row in workload.step_rows],
        "device": workload.device.to_json() if workload.device else None,
    }


def _step(step: StepTime | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "median": _whole(step.median_ns),
        "p10": _whole(step.p10_ns),
        "p90": _whole(step.p90_ns),
    }


def _cost(cost: Interval | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    return {"value": _whole(cost.value), "low": _whole(cost.low), "high": _whole(cost.high)}


def _ceiling(ceiling: Ceiling | None) -> dict[str, Any] | None:
    if ceiling is None:
        return None
    return {"step_ns": _whole(ceiling.step_ns), "gain": _gain(ceiling.gain)}


def _gain(gain: Interval | None) -> dict[str, Any] | None:
    return gain.to_json() if gain else None


def _health(health: Iterable[Health]) -> list[dict[str, str]]:
    return [{"level": item.level, "message": item.message} for item in health]


def _whole(ns: float) -> int | None:
    return round(ns) if math.isfinite(ns) else None


def _finite(value: Any) -> Any:
    """JSON has no word for NaN and infinity; they are "not known" here."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
