"""How long the device works during a step on the frozen batch, kernel by kernel."""

from __future__ import annotations

from fitdoctor.contract.evidence.device import Device, DeviceTime
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.seams.backends.device_work import device_work

# Enough for a mean; a profile of many thousand kernels takes long to read.
PROFILED = 10
WARM_UP_STEPS = 3


class DeviceTimeProbe(Probe[DeviceTime]):
    """Nanoseconds of device work per step.

    The profiler slows the host down, not the device: the step's own length is taken from the
    frozen batch, timed without it.
    """

    phase = Phase.DEVICE
    subjects = STEPS
    after = ("device",)
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        device = context.found(Device)
        is_on_gpu = device is not None and device.kind == "gpu"
        return is_on_gpu and context.step_ns is not None and context.trial is not None

    def run(self, context: Context) -> DeviceTime:
        stepper = context.step.as_is()
        for _ in range(WARM_UP_STEPS):
            stepper.step()
        stepper.synchronize()

        def run() -> None:
            for _ in range(PROFILED):
                stepper.step()
            stepper.synchronize()

        seen = device_work(context.backend.name, run)
        steps = PROFILED * context.step.executions
        return DeviceTime(
            busy_ns=seen.busy_ns / steps,
            compute_ns=seen.compute_ns / steps,
            copy_ns=seen.copy_ns / steps,
            kernels=seen.kernels / steps,
        )
