"""The diagnosis as plain data: what every report is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fitdoctor.analysis.anomalies import FirstEpoch, IteratorWaits, Stalls
from fitdoctor.analysis.device_use import DeviceUse
from fitdoctor.analysis.start_up import StartUp
from fitdoctor.analysis.step_rows import StepRow
from fitdoctor.analysis.timeline import Phase
from fitdoctor.contract.records import KerasFacts, Machine, Unseen
from fitdoctor.findings.account_row import AccountRow
from fitdoctor.findings.finding import Finding, Where
from fitdoctor.intervals import Interval

Verdict = Literal[
    "input-bound",
    "host-bound",
    "compile-bound",
    "callback-bound",
    "compute-bound",
    "device-mismatch",
    "start-up-bound",
    "at-ceiling",
    "not-judged",
]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True)
class Health:
    """Something the reader must know before trusting the numbers, or before training on."""

    level: Level
    message: str
    command: str = ""  # that repairs it
    rule: str | None = None  # the code, where a rule has a page on it


@dataclass(frozen=True)
class Part:
    """One share of a step; the parts of a breakdown sum to the step."""

    part: str
    ns_per_step: float
    share: float


@dataclass(frozen=True)
class StepTime:
    """Typical time of one step and its spread over the steady state."""

    median_ns: float
    p10_ns: float
    p90_ns: float


@dataclass(frozen=True)
class Ceiling:
    """The step on one batch held in memory: what curing all input could reach."""

    step_ns: float
    gain: Interval


@dataclass(frozen=True)
class DiagnosedWorkload:
    """One fit, one hand-written loop, or one group of repeated calls, judged."""

    kind: str
    where: Where | None
    calls: int
    steps: int
    steady_steps: int
    step: StepTime | None  # None when no steady state was reached
    breakdown: tuple[Part, ...]
    ceiling: Ceiling | None  # None when the frozen batch was not measured
    verdict: Verdict
    sentence: str  # the verdict in one plain sentence
    findings: tuple[Finding, ...]  # what makes it slow
    health: tuple[Health, ...]
    joint_gain: Interval | None
    total_ns: int  # wall time the workload took in the recording
    not_measured: tuple[str, ...] = ()  # "loader alone: a one-shot generator ..."
    input: str | None = None  # the data in one line
    first_epoch: FirstEpoch | None = None  # only where it was slower than the others
    stalls: Stalls | None = None
    iterator_waits: IteratorWaits | None = None
    step_rows: tuple[StepRow, ...] = ()  # layers, optimizer, rest; they sum to the frozen step
    device: DeviceUse | None = None  # only on an accelerator
    cost: Interval | None = None  # ns of one step with everything around it, with its range
    options: tuple[Finding, ...] = ()  # only where it is healthy: what would take less, if it may
    input_plan: Finding | None = None  # all input cures together, where they were tried
    account: tuple[AccountRow, ...] = ()  # every nanosecond of a step with its owner

    @property
    def cost_ns(self) -> float | None:
        """What one step costs with everything around it; the breakdown sums to it."""
        if self.breakdown:
            return sum(part.ns_per_step for part in self.breakdown)
        return self.step.median_ns if self.step is not None else None


@dataclass(frozen=True)
class Diagnosis:
    """Everything a report shows about one recording."""

    version: str
    script: str
    argv: tuple[str, ...]
    machine: Machine
    keras: KerasFacts
    recorder_ratio: float | None  # our own cost as a share of a step; None = not measured
    workloads: tuple[DiagnosedWorkload, ...]
    joint_gain: Interval | None
    health: tuple[Health, ...] = field(default=())  # about the whole recording
    ended: str = "finished"  # finished | examined | crashed | interrupted | killed | unknown
    exit_code: int | None = None
    exit_signal: int | None = None
    recording: str = ""
    start_up: StartUp | None = None
    timeline: tuple[Phase, ...] = ()  # the whole script, the longest phase first
    unseen: Unseen = field(default_factory=Unseen)  # lines that were not reached
