"""The diagnosis as JSON: the contract of DESIGN.md, read by other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol

from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis

SCHEMA = 1


class _HasJson(Protocol):
    def to_json(self) -> dict[str, Any]: ...


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
        "joint_gain": _or_null(diagnosis.joint_gain),
        "health": [asdict(item) for item in diagnosis.health],
        "ended": diagnosis.ended,
        "exit": {"code": diagnosis.exit_code, "signal": diagnosis.exit_signal},
        "recording": diagnosis.recording,
        "start_up": _or_null(diagnosis.start_up),
        "timeline": [phase.to_json() for phase in diagnosis.timeline],
        "unseen": None if diagnosis.unseen.file is None else asdict(diagnosis.unseen),
    }
    finite: dict[str, Any] = with_leaves(report, _finite)
    return finite


def to_text(diagnosis: Diagnosis) -> str:
    """The report as the text of a JSON file."""
    return json.dumps(to_json(diagnosis), indent=2, allow_nan=False) + "\n"


def _workload(workload: DiagnosedWorkload) -> dict[str, Any]:
    step, cost, ceiling = workload.step, workload.cost, workload.ceiling
    return {
        "kind": workload.kind,
        "where": _or_null(workload.where),
        "calls": workload.calls,
        "steps": workload.steps,
        "steady_steps": workload.steady_steps,
        "total_ns": workload.total_ns,
        "step_ns": step and _whole(median=step.median_ns, p10=step.p10_ns, p90=step.p90_ns),
        "cost_ns": cost and _whole(**asdict(cost)),
        "breakdown": [
            {"part": part.part, **_whole(ns_per_step=part.ns_per_step), "share": part.share}
            for part in workload.breakdown
        ],
        "ceiling": ceiling and {**_whole(step_ns=ceiling.step_ns), "gain": ceiling.gain.to_json()},
        "input": workload.input,
        "verdict": workload.verdict,
        "sentence": workload.sentence,
        "findings": [finding.to_json() for finding in workload.findings],
        "options": [finding.to_json() for finding in workload.options],
        "joint_gain": _or_null(workload.joint_gain),
        "input_plan": _or_null(workload.input_plan),
        "health": [asdict(item) for item in workload.health],
        "not_measured": list(workload.not_measured),
        "first_epoch": _or_null(workload.first_epoch),
        "stalls": _or_null(workload.stalls),
        "iterator_waits": _or_null(workload.iterator_waits),
        "step_parts": [row.to_json() for row in workload.step_rows],
        "device": _or_null(workload.device),
        "account": [row.to_json() for row in workload.account],
    }


def _or_null(part: _HasJson | None) -> dict[str, Any] | None:
    return part.to_json() if part is not None else None


def _whole(**times: float) -> dict[str, int | None]:
    """Whole nanoseconds; null where a time is not known."""
    return {name: round(ns) if math.isfinite(ns) else None for name, ns in times.items()}


def _finite(value: Any) -> Any:
    """JSON has no word for NaN and infinity; they are "not known" here."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def with_leaves(value: Any, changed: Callable[[Any], Any]) -> Any:
    """Data for JSON with each text, number or null in it changed."""
    if isinstance(value, dict):
        return {str(key): with_leaves(item, changed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_leaves(item, changed) for item in value]
    return changed(value)
