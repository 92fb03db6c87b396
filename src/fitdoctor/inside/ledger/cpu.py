"""Whose CPU time it was: ours, our workers', or other processes' on the same cores."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from fitdoctor.contract.limits import NS_PER_S, OTHERS_LIMIT_CORES

_TICK_NS = NS_PER_S // os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 10_000_000
# Busy time is counted in ticks, per core, at both ends of a window.
TICK_ALLOWANCE = 4
# Below this share of all allowed cores in use, a neighbour has a core of its own.
CROWDED_SHARE = 0.8


@dataclass(frozen=True)
class CpuUse:
    """CPU time in cores (1.0 = one core busy) over a window."""

    wall_ns: int
    own_cores: float
    children_cores: float
    others_cores: float | None  # None where the system does not say
    allowed_cores: int = 1

    @property
    def disturbing_cores(self) -> float | None:
        """Cores that others took from us: none while there are idle ones for both."""
        if self.others_cores is None:
            return None
        busy = self.own_cores + self.children_cores + self.others_cores
        return self.others_cores if busy > CROWDED_SHARE * self.allowed_cores else 0.0

    @property
    def is_clean(self) -> bool:
        """Whether others left us alone."""
        return self.disturbing_cores is None or self.disturbing_cores <= OTHERS_LIMIT_CORES


class CpuWatch:
    """Measures CPU use between its creation and `stop()`."""

    def __init__(self) -> None:
        self._wall = time.perf_counter_ns()
        self._own = time.process_time_ns()
        self._children = _children_ns()
        self._busy = _busy_ns()

    def stop(self) -> CpuUse:
        """Take the second reading."""
        wall = max(1, time.perf_counter_ns() - self._wall)
        own = time.process_time_ns() - self._own
        busy = _busy_ns()
        children = max(0, _children_ns() - self._children)
        others = None
        if busy is not None and self._busy is not None:
            # Reading a file gives Python's lock away. Where many threads want it, they run for a
            # tenth of a second before it is back: what ran meanwhile was ours, so the machine's
            # time is read between two readings of our own.
            ours = time.process_time_ns() - self._own
            others = max(0, busy - self._busy - ours - children) / wall
            # The kernel counts busy time in ticks: a short window cannot be judged finely.
            others = max(0.0, others - TICK_ALLOWANCE * _TICK_NS / wall)
        return CpuUse(wall, own / wall, children / wall, others, cores_by_affinity())


def cores_by_affinity() -> int:
    """The cores that this process may run on, whatever its quota."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _busy_ns() -> int | None:
    """Busy and stolen time of the cores that this process may use."""
    try:
        allowed = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        with open("/proc/stat") as stat:
            rows = [line.split() for line in stat if line.startswith("cpu")]
    except (OSError, AttributeError):
        return None
    ticks = 0
    for name, *values in rows:
        if name in allowed:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, values[:8])
            ticks += user + nice + system + irq + softirq + steal
    return ticks * _TICK_NS


def _children_ns() -> int:
    """CPU time of live descendants: worker processes of a loader."""
    total = 0
    queue = [os.getpid()]
    while queue:
        for child in _child_pids(queue.pop()):
            queue.append(child)
            total += _process_ns(child)
    return total


def _child_pids(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as children:
                found.extend(int(child) for child in children.read().split())
    except OSError:
        return found
    return found


def _process_ns(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) * _TICK_NS
