"""Cores, memory and GPU of a process, watched from outside while its stacks are sampled."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import psutil

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.records import Accelerator, Sample
from fitdoctor.intervals import Interval
from fitdoctor.launch.accelerators import Accelerators
from fitdoctor.launch.sampler import ProcessTree

PERIOD_S = 0.25
# Fewer points give no slope that could be believed.
FEWEST_SAMPLES = 8
# Less growth than this within the watch is what any allocator does.
NOTABLE_GROWTH_BYTES = 10_000_000


@dataclass(frozen=True)
class DeviceUse:
    """One GPU, as NVML sees it: all processes on it together."""

    name: str | None
    util: float | None  # a share of the time, not percent
    memory_used: int | None
    memory_bytes: int | None


@dataclass(frozen=True)
class MachineUse:
    """What the process and its children used."""

    cores_used: float | None
    cores: int | None  # that it may run on
    main_thread: float | None  # its share of time on a CPU
    children: int | None
    memory_bytes: int | None
    growth_per_s: Interval | None  # bytes; None where the memory does not grow
    memory_available: int
    devices: tuple[DeviceUse, ...]
    devices_note: str | None

    def to_json(self) -> dict[str, Any]:
        """The form in the JSON result."""
        growth = self.growth_per_s
        return {
            "cores_used": None if self.cores_used is None else round(self.cores_used, 2),
            "cores": self.cores,
            "main_thread_on_cpu": self.main_thread,
            "children": self.children,
            "memory_bytes": self.memory_bytes,
            "memory_growth": None
            if growth is None
            else {"bytes_per_s": growth.value, "low": growth.low, "high": growth.high},
            "memory_available_bytes": self.memory_available,
            "accelerators": [vars(one) for one in self.devices],
            "accelerators_note": self.devices_note,
        }


class MachineWatch(threading.Thread):
    """Takes a sample every quarter of a second until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(name="fitdoctor-machine-watch", daemon=True)
        self._pid = pid
        self._samples: list[Sample] = []
        self._stopped = threading.Event()
        self._devices: tuple[Accelerator, ...] = ()
        self._note: str | None = None

    def run(self) -> None:
        """Sample until stopped or until the process ends."""
        accelerators = Accelerators()
        self._devices, self._note = accelerators.describe(processes=False), accelerators.unavailable
        try:
            tree = ProcessTree(self._pid)
            while not self._stopped.wait(PERIOD_S):
                self._samples.append(replace(tree.sample(), gpu=accelerators.sample()))
        except (psutil.Error, OSError):  # ended: what was seen until then counts
            pass
        finally:
            accelerators.close()

    def stop(self) -> MachineUse:
        """End the watch and say what it saw."""
        self._stopped.set()
        self.join()
        return machine_use(self._pid, self._samples, self._devices, self._note)


def machine_use(
    pid: int, samples: Sequence[Sample], devices: Sequence[Accelerator], note: str | None
) -> MachineUse:
    """The samples in a few numbers."""
    last = samples[-1] if samples else None
    return MachineUse(
        cores_used=_cores_used(samples),
        cores=_cores(pid),
        main_thread=_on_cpu(samples, pid),
        children=None if last is None else last.children,
        memory_bytes=None if last is None else _memory(last),
        growth_per_s=memory_growth(samples),
        memory_available=psutil.virtual_memory().available,
        devices=tuple(_device(samples, index, one) for index, one in enumerate(devices)),
        devices_note=note,
    )


def memory_growth(samples: Sequence[Sample]) -> Interval | None:
    """Bytes per second with a 90 % interval; None where there is no growth to speak of."""
    known = [(one.t, memory) for one in samples if (memory := _memory(one)) is not None]
    if len(known) < FEWEST_SAMPLES:
        return None
    from scipy.stats import theilslopes

    start = known[0][0]
    seconds = [(t - start) / NS_PER_S for t, _ in known]
    found = theilslopes([memory for _, memory in known], seconds, alpha=0.9)
    slope, low, high = (float(one) for one in (found.slope, found.low_slope, found.high_slope))
    if low <= 0 or slope * seconds[-1] < NOTABLE_GROWTH_BYTES:
        return None
    return Interval(slope, low, high)


def _memory(sample: Sample) -> int | None:
    return None if sample.rss is None else sample.rss + (sample.children_rss or 0)


def _cores_used(samples: Sequence[Sample]) -> float | None:
    known = [(one.t, one.cpu_ns, one.children_cpu_ns or 0) for one in samples if one.cpu_ns]
    if len(known) < 2:
        return None
    (begin, own, children), (end, own_after, children_after) = known[0], known[-1]
    return (own_after - own + max(0, children_after - children)) / (end - begin)


def _on_cpu(samples: Sequence[Sample], tid: int) -> float | None:
    """The share of its time that a thread was on a CPU."""
    known = [(one.t, ns) for one in samples for thread, _, ns in one.threads or () if thread == tid]
    if len(known) < 2:
        return None
    return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])


def _device(samples: Sequence[Sample], index: int, device: Accelerator) -> DeviceUse:
    seen = [one.gpu[index] for one in samples if one.gpu and len(one.gpu) > index]
    loads = [one.util for one in seen if one.util is not None]
    used = [one.mem for one in seen if one.mem is not None]
    return DeviceUse(
        name=device.name,
        util=statistics.mean(loads) / 100 if loads else None,
        memory_used=used[-1] if used else None,
        memory_bytes=device.memory_bytes,
    )


def _cores(pid: int) -> int | None:
    """Cores that the process may run on."""
    try:
        cores: int | None = len(psutil.Process(pid).cpu_affinity() or ()) or None
    except (psutil.Error, AttributeError):
        cores = psutil.cpu_count()
    return cores
