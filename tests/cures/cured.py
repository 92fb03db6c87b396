"""Findings, diagnoses and recordings made by hand for the tests of patches."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fitdoctor.contract.codec import encode
from fitdoctor.contract.evidence.step import CompiledFit, FrozenBatch
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.records import (
    FORMAT,
    SCHEMA,
    Header,
    KerasFacts,
    Machine,
    ProbeRun,
    Script,
)
from fitdoctor.contract.writer import record_of
from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis, Part, StepTime
from fitdoctor.findings.edits import Edit
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.intervals import Interval

MS = 1_000_000


def finding(
    *edits: Edit,
    rule: str = "HO002",
    safety: Safety = "safe",
    gain: float = 2.0,
    saves: dict[str, float] | None = None,
) -> Finding:
    return Finding(
        rule=rule,
        name="some-pattern",
        where=edits[0].where if edits else None,
        message="it is slow",
        gain=Interval.around(gain, 0.1),
        cure=Cure(safety, "do it another way", edits),
        saves={part: Interval.exact(ns) for part, ns in (saves or {}).items()},
    )


def diagnosis(*findings: Finding, parts: dict[str, float] | None = None) -> Diagnosis:
    shares = parts or {"step": 10.0 * MS}
    whole = sum(shares.values())
    workload = DiagnosedWorkload(
        kind="fit",
        where=None,
        calls=1,
        steps=100,
        steady_steps=100,
        step=StepTime(whole, whole, whole),
        breakdown=tuple(Part(name, ns, ns / whole) for name, ns in shares.items()),
        ceiling=None,
        verdict="host-bound",
        sentence="",
        findings=findings,
        health=(),
        joint_gain=None,
        total_ns=round(100 * whole),
    )
    return Diagnosis("0.1.0", "train.py", (), Machine(), KerasFacts(), None, (workload,), None)


def _probe(name: str, found: object) -> dict[str, Any]:
    return record_of("probe", ProbeRun(name, "ok"), w=1, data=encode(found))


def eager_recording(folder: Path, script: Path, *, line: int, sha256: Any = "as it is") -> Path:
    """A recording of a fit that runs eagerly, with its compile() at a line of the script."""
    from synthetic import timed  # which a script started by a test does not find

    if sha256 == "as it is":
        sha256 = hashlib.sha256(script.read_bytes()).hexdigest()
    times = [10**9 + i * 10 * MS for i in range(200)]
    place = {"file": str(script), "line": line}
    header = Header("0.1.0", Script(str(script)), cwd=str(folder))
    records: list[dict[str, Any]] = [
        record_of("header", header, format=FORMAT, schema=SCHEMA),
        record_of("machine", Machine(cpus=2, affinity=2)),
        record_of("keras", KerasFacts("3.15.1", "tensorflow")),
        {
            "k": "event",
            "name": "compile_call",
            "t": 10**8,
            "dur": 10**6,
            "detail": {**place, "model": 1},
        },
        {
            "k": "workload",
            "w": 1,
            "kind": "fit",
            "file": str(script),
            "line": line + 1,
            "t": times[0],
            "detail": {"backend": "tensorflow", "model_number": 1},
        },
        {
            "k": "steps",
            "w": 1,
            "t": times,
            "step": [9 * MS] * 200,
            "wait": [0] * 200,
            "callbacks": [0] * 200,
            "others": 0.0,
        },
        {
            "k": "calls",
            "w": 1,
            "t": [times[0] - 5 * MS],
            "dur": [2005 * MS],
            "steps": [200],
            "start_up": [5 * MS],
            "validation": [0],
            "epoch_callbacks": [0],
            "batch_callbacks": [0],
            "step": [1800 * MS],
            "wait": [0],
            "epochs": [1],
        },
        _probe("frozen_batch", timed(FrozenBatch, 9 * MS)),
        _probe("graph_trial", timed(CompiledFit, 0.5 * MS, in_loop=timed(Timed, 0.5 * MS))),
        {"k": "examined"},
        {"k": "end"},
    ]
    if sha256 is not None:
        records.append({"k": "sources", "sha256": {str(script): sha256}})
    records.append({"k": "exit", "t": times[-1], "code": 0, "signal": None})
    kept = folder / ".fitdoctor"
    kept.mkdir(exist_ok=True)
    path = kept / "2026-01-01_00-00-00_train.rec"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
