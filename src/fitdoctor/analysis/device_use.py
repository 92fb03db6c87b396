"""What the accelerator does during a step: compute, copy, or wait for the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.contract.records import RecordedWorkload

# A device that works less of a step than this waits for the host, whatever the step is made of.
IDLE_SHARE = 0.5


@dataclass(frozen=True)
class DeviceUse:
    """Nanoseconds per step on the device; what is left of the step it waits."""

    compute_ns: float
    copy_ns: float  # of the step itself; copies of the input come before it
    idle_ns: float
    kernels: float

    @property
    def busy_share(self) -> float:
        """Of a training step, with everything around it."""
        whole = self.compute_ns + self.copy_ns + self.idle_ns
        return (self.compute_ns + self.copy_ns) / whole if whole else 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it mostly waits."""
        return self.busy_share < IDLE_SHARE

    def to_json(self) -> dict[str, Any]:
        return {
            "compute_ns": round(self.compute_ns),
            "copy_ns": round(self.copy_ns),
            "idle_ns": round(self.idle_ns),
            "busy_share": round(self.busy_share, 4),
            "kernels": round(self.kernels, 1),
        }


def device_use(workload: RecordedWorkload, step_ns: float) -> DeviceUse | None:
    """The device's share of a step that takes `step_ns`; None where it was not measured."""
    found = workload.found(DeviceTime)
    if found is None:
        return None
    compute, busy = found.compute_ns, found.busy_ns
    return DeviceUse(
        compute_ns=compute,
        copy_ns=max(0.0, busy - compute),
        idle_ns=max(0.0, step_ns - busy),
        kernels=found.kernels,
    )
