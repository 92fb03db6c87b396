"""NVIDIA devices as NVML reports them: what they are, what they do, who else uses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil

from fitdoctor.contract.codec import LARGEST
from fitdoctor.contract.records import Accelerator, DeviceProcess, DeviceSample

_MW_PER_W = 1_000
PCI_FOLDER = Path("/sys/bus/pci/devices")
NVIDIA = "0x10de"
# PCI classes: display controllers, with and without a screen.
DISPLAYS = ("0x0300", "0x0302")
# Why a clock is held down, as NVML counts it. Idle clocks and clocks that someone set are no reason
# to doubt a measurement, so they are not among these.
HELD_DOWN = {
    0x04: "power limit",
    0x08: "hardware slowdown",
    0x20: "heat",
    0x40: "heat",
    0x80: "power supply",
}

_Value = TypeVar("_Value")


class Accelerators:
    """All devices that NVML sees; `unavailable` says why there are none."""

    def __init__(self) -> None:
        # A machine without NVML is normal and not an error.
        self.unavailable: str | None = None
        self._handles: list[Any] = []
        try:
            import pynvml
        except ImportError as error:
            self.unavailable = f"not available: {error}"
            return
        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except pynvml.NVMLError as error:
            self.unavailable = f"not available: {error}"

    def describe(self, *, processes: bool = True) -> tuple[Accelerator, ...]:
        """Name, memory and highest clock of each device, and the `processes` on it now.

        Asked before the script starts, those are others'. Later they cannot be distinguished from
        the script's own: a container has process numbers of its own.
        """
        return tuple(
            Accelerator(
                name=self._ask(self._name, handle),
                memory_bytes=self._ask(lambda h: int(self._memory(h).total), handle),
                clock_mhz=self._ask(self._highest_clock, handle),
                processes=self._ask(self._processes, handle) if processes else None,
            )
            for handle in self._handles
        )

    def sample(self) -> tuple[DeviceSample, ...] | None:
        """Load (percent), memory (bytes), power (watts), clock (MHz) of each device.

        And what holds the clock down, if anything does. None without NVML.
        """
        if self.unavailable is not None:
            return None
        nvml = self._nvml
        return tuple(
            DeviceSample(
                util=self._ask(lambda h: float(nvml.nvmlDeviceGetUtilizationRates(h).gpu), handle),
                mem=self._ask(lambda h: int(self._memory(h).used), handle),
                power=self._ask(
                    lambda h: float(nvml.nvmlDeviceGetPowerUsage(h) / _MW_PER_W), handle
                ),
                clock=self._ask(self._clock, handle),
                held=self._ask(self._held_down, handle),
            )
            for handle in self._handles
        )

    def driver(self) -> tuple[str | None, int | None]:
        """The driver's version, and the newest CUDA that it supports (12040 is 12.4)."""
        if self.unavailable is not None:
            return None, None
        nvml = self._nvml

        def version(_: Any) -> str:
            found = nvml.nvmlSystemGetDriverVersion()
            return found.decode() if isinstance(found, bytes) else str(found)

        cuda = self._ask(lambda _: int(nvml.nvmlSystemGetCudaDriverVersion_v2()), None)
        return self._ask(version, None), cuda

    def close(self) -> None:
        if self.unavailable is None:
            self._nvml.nvmlShutdown()

    def _memory(self, handle: Any) -> Any:
        return self._nvml.nvmlDeviceGetMemoryInfo(handle)

    def _name(self, handle: Any) -> str:
        name = self._nvml.nvmlDeviceGetName(handle)
        return name.decode() if isinstance(name, bytes) else str(name)

    def _clock(self, handle: Any) -> int:
        return int(self._nvml.nvmlDeviceGetClockInfo(handle, self._nvml.NVML_CLOCK_SM))

    def _highest_clock(self, handle: Any) -> int:
        return int(self._nvml.nvmlDeviceGetMaxClockInfo(handle, self._nvml.NVML_CLOCK_SM))

    def _held_down(self, handle: Any) -> tuple[str, ...]:
        bits = int(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
        return tuple(sorted({reason for bit, reason in HELD_DOWN.items() if bits & bit}))

    def _processes(self, handle: Any) -> tuple[DeviceProcess, ...]:
        running = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return tuple(
            DeviceProcess(int(one.pid), _process_name(int(one.pid)), _used_memory(one))
            for one in running
        )

    def _ask(self, question: Callable[[Any], _Value], handle: Any) -> _Value | None:
        try:
            return question(handle)
        # Many devices do not answer every question, and older bindings do not know all of them.
        except (self._nvml.NVMLError, AttributeError):
            return None


def gpus_on_bus(folder: Path = PCI_FOLDER) -> int | None:
    """NVIDIA's GPUs on the PCI bus, also without a driver; None where it cannot be read."""
    if not folder.is_dir():
        return None
    count = 0
    for device in folder.iterdir():
        try:
            vendor = (device / "vendor").read_text(encoding="ascii").strip()
            kind = (device / "class").read_text(encoding="ascii").strip()
        except OSError:
            continue
        count += vendor == NVIDIA and kind.startswith(DISPLAYS)
    return count


def _used_memory(process: Any) -> int | None:
    """Bytes; NVML says 2**64 - 1 where it does not know."""
    used = getattr(process, "usedGpuMemory", None)
    return int(used) if used is not None and used <= LARGEST else None


def _process_name(pid: int) -> str | None:
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:  # ended, or in another container
        return None
