"""A recording, read and checked: frozen dataclasses, integer nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1
FORMAT = "fitdoctor-recording"


@dataclass(frozen=True)
class StepBlock:
    """Steps recorded in one go: one row per execution of the step function."""

    call: int
    epoch: int
    executions: int  # steps per row
    t: tuple[int, ...]
    step: tuple[int, ...]
    wait: tuple[int | None, ...]
    callbacks: tuple[int, ...]
    graph_wait: int | None  # input wait of the whole block, measured inside the graph
    others_cores: float | None  # cores that other processes took meanwhile
    after_pause: bool  # an examination lies before the first row


@dataclass(frozen=True)
class CallRow:
    """One call of fit, predict, …; None where it was not measured."""

    t: int
    dur: int
    steps: int
    start_up: int | None
    validation: int
    epoch_callbacks: int
    batch_callbacks: int
    step: int
    wait: int | None
    epochs: int


@dataclass(frozen=True)
class CallbackTotal:
    """Time in one callback class, by kind of hook."""

    name: str
    hook: str  # batch | epoch | train
    count: int
    ns: int
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Event:
    """Something that happened at a moment: trace, compile, compile_call, validation."""

    name: str
    t: int
    dur: int
    call: int | None
    step: int | None
    detail: dict[str, Any]


@dataclass(frozen=True)
class Probe:
    """A controlled experiment, or the reason why it was not made."""

    name: str
    status: str
    reason: str
    data: dict[str, Any]
    t: int = 0
    dur: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether there is a result."""
        return self.status == "ok"


@dataclass(frozen=True)
class RecordedWorkload:
    """All that was recorded of one line that trains."""

    number: int
    kind: str
    file: str | None
    line: int | None
    t: int
    parent: int | None
    detail: dict[str, Any]
    blocks: tuple[StepBlock, ...] = ()
    calls: tuple[CallRow, ...] = ()
    callbacks: tuple[CallbackTotal, ...] = ()
    events: tuple[Event, ...] = ()
    probes: dict[str, Probe] = field(default_factory=dict)
    notes: tuple[tuple[str, str], ...] = ()

    def result(self, probe: str) -> dict[str, Any] | None:
        """A probe's data, or None when there is none."""
        found = self.probes.get(probe)
        return found.data if found is not None and found.is_ok else None


@dataclass(frozen=True)
class Recording:
    """One run of a script under the recorder."""

    path: str
    header: dict[str, Any]
    machine: dict[str, Any]
    keras: dict[str, Any]
    workloads: tuple[RecordedWorkload, ...]
    events: tuple[Event, ...]  # outside any workload
    samples: tuple[dict[str, Any], ...]
    notes: tuple[tuple[str, str], ...]
    overhead: dict[str, Any]
    examined: bool
    ended: bool  # the script's process came to an orderly end
    exit_code: int | None
    exit_signal: int | None
    broken_lines: int
    # SHA-256 of each source file that a place lies in; None where it changed while the
    # script ran, so that its lines are not known.
    sources: dict[str, str | None] = field(default_factory=dict)
