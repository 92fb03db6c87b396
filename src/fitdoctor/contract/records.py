"""What a recording consists of: one frozen dataclass per kind of record, integer nanoseconds.

Writers and the reader share these classes, so that neither can know a column that the other does
not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from fitdoctor.contract.codec import Signed
from fitdoctor.contract.host_looks import HostLook
from fitdoctor.contract.results import Evidence, Result

SCHEMA = 2
OLDEST_SCHEMA = 1
FORMAT = "fitdoctor-recording"

Backend = Literal["tensorflow", "jax", "torch"]


@dataclass(frozen=True)
class Script:
    """What was run."""

    path: str = ""
    argv: tuple[str, ...] = ()
    module: bool = False


@dataclass(frozen=True)
class Header:
    """The first line of a recording."""

    fitdoctor: str = "unknown"
    script: Script = field(default_factory=Script)
    cwd: str | None = None
    python: str | None = None
    started_unix_ns: int | None = None
    # Of a launch of several processes.
    rank: int | None = None
    world_size: int | None = None
    launch: str | None = None  # tells it from other launches


@dataclass(frozen=True)
class DeviceProcess:
    """A process that used an accelerator before the script started."""

    pid: int
    name: str | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Accelerator:
    """One GPU as NVML describes it; None where it does not answer."""

    name: str | None = None
    memory_bytes: int | None = None
    clock_mhz: int | None = None
    processes: tuple[DeviceProcess, ...] | None = None


@dataclass(frozen=True)
class Machine:
    """The machine and the limits put on us."""

    cpus: int | None = None
    affinity: int | None = None
    cgroup_cpus: float | None = None
    cgroup_memory_bytes: int | None = None
    memory_bytes: int | None = None
    platform: str | None = None
    python: str | None = None
    accelerators: tuple[Accelerator, ...] = ()
    accelerators_note: str | None = None
    driver: str | None = None
    driver_cuda: int | None = None  # the newest CUDA that it supports; 12040 is 12.4
    gpus_on_bus: int | None = None  # NVIDIA's, whether or not a driver answers


@dataclass(frozen=True)
class KerasFacts:
    """The versions that trained."""

    version: str | None = None
    backend: str | None = None
    backend_version: str | None = None


@dataclass(frozen=True)
class DeviceSample:
    """One GPU at one moment."""

    util: float | None = None
    mem: int | None = None
    power: float | None = None
    clock: int | None = None
    held: tuple[str, ...] | None = None  # what holds the clock down


@dataclass(frozen=True)
class Sample:
    """The script's processes and the machine at one moment, seen from outside."""

    t: int
    cores: tuple[float, ...] = ()
    cpu_ns: int | None = None
    threads: tuple[tuple[int, str | None, int], ...] | None = None
    rss: int | None = None
    major_faults: int | None = None
    read_bytes: int | None = None
    children: int | None = None
    children_cpu_ns: int | None = None
    children_rss: int | None = None
    children_read_bytes: int | None = None
    throttled: int | None = None
    throttled_ns: int | None = None
    gpu: tuple[DeviceSample, ...] | None = None


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
class EventDetail:
    """What is known of an event; which fields depends on its name."""

    name: str | None = None  # of the traced or compiled function
    file: str | None = None
    line: int | None = None
    model: int | None = None  # a number that stays with one model object
    shapes: tuple[str, ...] = ()
    module: str | None = None  # imported
    build: str | None = None  # of the model
    called_from: tuple[str, int] | None = None
    changed: tuple[str, ...] | None = None  # arguments that made a new trace necessary
    count: int | None = None
    is_user: bool = False
    steps: int | None = None


@dataclass(frozen=True)
class Event:
    """Something that happened at a moment: trace, compile, compile_call, validation."""

    name: str
    t: int
    dur: int
    call: int | None
    step: int | None
    detail: EventDetail


@dataclass(frozen=True)
class WorkloadDetail:
    """How a workload was called."""

    backend: str | None = None
    batch_size: int | None = None
    epochs: int | None = None
    steps_per_epoch: int | None = None
    steps_per_execution: int | None = None
    input: str | None = None
    jit_compile: bool | str | None = None
    run_eagerly: bool | None = None
    marker: str | None = None  # what marks the steps of a hand-written loop
    model: str | None = None
    model_number: int | None = None
    validation: bool | None = None
    validation_freq: int | None = None


@dataclass(frozen=True)
class ProbeRun:
    """That a probe was run: when, and why it gave nothing where it did not."""

    name: str
    status: str
    reason: str = ""
    t: int = 0
    dur: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether there is a result."""
        return self.status == "ok"


@dataclass(frozen=True)
class Unseen:
    """Lines of the script that were not reached, since it was ended before."""

    file: str | None = None
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class RecordedWorkload:
    """All that was recorded of one line that trains."""

    number: int
    kind: str
    file: str | None
    line: int | None
    t: int
    parent: int | None
    detail: WorkloadDetail = field(default_factory=WorkloadDetail)
    blocks: tuple[StepBlock, ...] = ()
    calls: tuple[CallRow, ...] = ()
    callbacks: tuple[CallbackTotal, ...] = ()
    events: tuple[Event, ...] = ()
    probes: dict[str, ProbeRun] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)
    notes: tuple[tuple[str, str], ...] = ()

    def found(self, kind: type[Result], key: str = "") -> Result | None:
        """A probe's result, or None where there is none."""
        return self.evidence.found(kind, key)


@dataclass(frozen=True)
class Recording:
    """One run of a script under the recorder."""

    path: str
    header: Header
    machine: Machine
    keras: KerasFacts
    workloads: tuple[RecordedWorkload, ...]
    events: tuple[Event, ...]  # outside any workload
    samples: tuple[Sample, ...]
    notes: tuple[tuple[str, str], ...]
    own_cost_ns: float | None  # of the recorder, per step
    examined: bool
    ended: bool  # the script's process came to an orderly end
    exit_code: Signed | None
    exit_signal: int | None
    broken_lines: int
    damage: tuple[str, ...] = ()  # what was wrong with records that were left out
    # SHA-256 of each source file that a place lies in; None where it changed while the
    # script ran, so that its lines are not known.
    sources: dict[str, str | None] = field(default_factory=dict)
    looks: tuple[HostLook, ...] = ()  # where the script was, a few times a second
    unseen: Unseen = field(default_factory=Unseen)


# A record as it lies in the file, before it is checked.
Raw = dict[str, Any]
