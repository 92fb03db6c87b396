"""Synthetic diagnoses for the reports' tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fitdoctor.contract.records import KerasFacts, Machine
from fitdoctor.findings.diagnosed import (
    Ceiling,
    DiagnosedWorkload,
    Diagnosis,
    Health,
    Part,
    StepTime,
)
from fitdoctor.findings.finding import Cure, Finding, Where
from fitdoctor.intervals import Interval

MS = 1_000_000


def finding(rule: str = "IN002", name: str = "serial-reads", **changes: Any) -> Finding:
    base = Finding(
        rule=rule,
        name=name,
        where=Where("/work/project/data.py", 31),
        message="The loader reads one file at a time and waits 9 ms for each.",
        gain=Interval(2.4, 1.9, 2.6),
        cure=Cure(
            "safe",
            "read several files at once: dataset.interleave(..., num_parallel_calls=AUTOTUNE)",
        ),
        evidence={"reads_per_step": 12, "cpu_share": 0.04, "disk": None},
    )
    return replace(base, **changes)


def healthy_workload(**changes: Any) -> DiagnosedWorkload:
    base = DiagnosedWorkload(
        kind="fit",
        where=Where("/work/project/train.py", 88),
        calls=1,
        steps=412,
        steady_steps=380,
        step=StepTime(41 * MS, 40 * MS, 43 * MS),
        breakdown=(
            Part("step", 40 * MS, 40 / 41),
            Part("input_wait", 0.0, 0.0),
            Part("unknown", 1 * MS, 1 / 41),
        ),
        ceiling=Ceiling(41 * MS, Interval(1.0, 0.99, 1.01)),
        verdict="at-ceiling",
        sentence="The training runs as fast as this model and this machine allow.",
        findings=(),
        health=(),
        joint_gain=None,
        total_ns=20_000 * MS,
    )
    return replace(base, **changes)


def slow_workload(**changes: Any) -> DiagnosedWorkload:
    callback = finding(
        "CB001",
        "per-batch-callback",
        where=Where("/work/project/train.py", 88),
        message="LogEveryBatch takes 6 ms of every step.",
        gain=Interval(1.04, 1.02, 1.05),
        cure=Cure("unsafe", "log every 50 batches"),
    )
    return replace(
        healthy_workload(),
        step=StepTime(148 * MS, 140 * MS, 162 * MS),
        breakdown=(
            Part("input_wait", 96 * MS, 0.65),
            Part("step", 41 * MS, 0.28),
            Part("callbacks", 6 * MS, 0.04),
            Part("unknown", 5 * MS, 0.03),
        ),
        ceiling=Ceiling(41 * MS, Interval(3.6, 3.2, 3.9)),
        verdict="input-bound",
        sentence="Two thirds of every step is spent waiting for data.",
        findings=(finding(), callback),
        health=(Health("warning", "another process used 40 % of the CPU"),),
        joint_gain=Interval(2.6, 2.1, 2.9),
        not_measured=("loader alone: a one-shot generator cannot be read twice",),
        **changes,
    )


def diagnosis(*workloads: DiagnosedWorkload, **changes: Any) -> Diagnosis:
    base = Diagnosis(
        version="0.1.0",
        script="train.py",
        argv=("--epochs", "1"),
        machine=Machine(cpus=2, affinity=2),
        keras=KerasFacts(version="3.15.1", backend="tensorflow"),
        recorder_ratio=0.003,
        workloads=workloads,
        joint_gain=None,
        recording=".fitdoctor/2026-11-15_14-03-00_train.rec",
    )
    return replace(base, **changes)


def bare_diagnosis() -> Diagnosis:
    """Everything that may be missing is missing."""
    workload = DiagnosedWorkload(
        kind="",
        where=None,
        calls=0,
        steps=0,
        steady_steps=0,
        step=None,
        breakdown=(),
        ceiling=None,
        verdict="not-judged",
        sentence="",
        findings=(finding(where=None, message="", evidence={}),),
        health=(),
        joint_gain=None,
        total_ns=0,
    )
    return Diagnosis(
        version="",
        script="",
        argv=(),
        machine=Machine(),
        keras=KerasFacts(),
        recorder_ratio=None,
        workloads=(workload,),
        joint_gain=None,
    )
