"""What the accelerator does during a step: compute, copy, or wait; and at what rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.contract.evidence.model import MachineCeiling, ModelWork
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.limits import FORWARD_PASSES_PER_STEP
from fitdoctor.contract.records import RecordedWorkload

# A device that works less of a step than this waits for the host, whatever the step is made of.
IDLE_SHARE = 0.5
# Of a step: what takes this much of it is what binds it.
BINDS = 0.5
COPY_BINDS = 0.3

Bound = Literal["launch", "host", "copy", "memory", "compute"]


@dataclass(frozen=True)
class Rate:
    """The arithmetic of a step beside what this machine was measured to do at best."""

    flops: float  # of a step, with its gradients
    flops_per_s: float  # of a large matrix product in the same numbers
    dtype: str
    compute_ns: float  # what the arithmetic takes at that rate
    memory_ns: float  # what moving its inputs, weights and outputs takes

    def utilisation(self, step_ns: float) -> float:
        """Model FLOPs utilisation (MFU) of a step that takes so long."""
        return self.compute_ns / max(1.0, step_ns)


@dataclass(frozen=True)
class DeviceUse:
    """Nanoseconds per step on the device; what is left of the step it waits."""

    compute_ns: float
    copy_ns: float  # of the step itself; copies of the input come before it
    idle_ns: float
    kernels: float
    starting_ns: float | None = None  # kernels of little more than their start, and gaps
    short_kernels: float | None = None
    rate: Rate | None = None

    @property
    def step_ns(self) -> float:
        """A training step, with everything around it."""
        return self.compute_ns + self.copy_ns + self.idle_ns

    @property
    def busy_share(self) -> float:
        """Of a step."""
        return (self.compute_ns + self.copy_ns) / self.step_ns if self.step_ns else 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it mostly waits."""
        return self.busy_share < IDLE_SHARE

    @property
    def utilisation(self) -> float | None:
        """Model FLOPs utilisation; None where the arithmetic or the machine is not known."""
        return None if self.rate is None else self.rate.utilisation(self.step_ns)

    @property
    def bound(self) -> Bound | None:
        """What binds a step on the device; None where that is not known."""
        if self.copy_ns >= COPY_BINDS * self.step_ns:
            return "copy"
        if self.starting_ns is not None and self.starting_ns >= BINDS * self.step_ns:
            return "launch"
        if self.is_idle:
            return "host"
        if self.rate is None:
            return None
        return "compute" if self.rate.compute_ns >= self.rate.memory_ns else "memory"

    def to_json(self) -> dict[str, Any]:
        rate, starting = self.rate, self.starting_ns
        return {
            "compute_ns": round(self.compute_ns),
            "copy_ns": round(self.copy_ns),
            "idle_ns": round(self.idle_ns),
            "busy_share": round(self.busy_share, 4),
            "kernels": round(self.kernels, 1),
            "bound": self.bound,
            "starting_ns": None if starting is None else round(starting),
            "mfu": None if self.utilisation is None else round(self.utilisation, 4),
            "model_flops": None if rate is None else round(rate.flops),
            "dtype": None if rate is None else rate.dtype,
            "peak_flops_per_s": None if rate is None else round(rate.flops_per_s),
        }


def device_use(workload: RecordedWorkload, step_ns: float) -> DeviceUse | None:
    """The device's share of a step that takes `step_ns`; None where it was not measured."""
    found = workload.found(DeviceTime)
    if found is None:
        return None
    compute, busy = found.compute_ns, found.busy_ns
    seen, frozen = workload.found(Operations), workload.found(FrozenBatch)
    alone = from_windows(frozen.ns) if frozen is not None else None
    known = seen if seen is not None and seen.on_device and alone is not None else None
    return DeviceUse(
        compute_ns=compute,
        copy_ns=max(0.0, busy - compute),
        idle_ns=max(0.0, step_ns - busy),
        kernels=found.kernels,
        # On one batch in memory: a wait for data is no start of a kernel.
        starting_ns=None
        if known is None or alone is None
        else known.starting_ns(min(step_ns, alone.value)),
        short_kernels=None if known is None else known.short_kernels,
        rate=_rate(workload),
    )


def _rate(workload: RecordedWorkload) -> Rate | None:
    work, ceiling = workload.found(ModelWork), workload.found(MachineCeiling)
    if work is None or ceiling is None:
        return None
    peak = ceiling.by_dtype.get(work.dtype)
    if peak is None and work.dtype == "float16":
        peak = ceiling.by_dtype.get("bfloat16")  # the same units do both at the same rate
    if not peak or not work.flops:
        return None
    flops = FORWARD_PASSES_PER_STEP * work.flops
    moved = FORWARD_PASSES_PER_STEP * work.bytes * (1.0 if work.dtype == "float32" else 0.5)
    return Rate(
        flops=flops,
        flops_per_s=peak,
        dtype=work.dtype,
        compute_ns=flops / peak * 1e9,
        memory_ns=moved / max(1.0, ceiling.bytes_per_s) * 1e9,
    )
