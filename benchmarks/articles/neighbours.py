"""How many cores other processes use meanwhile: on few cores they decide what is faster."""

from __future__ import annotations

import time

import psutil

_IDLE = ("idle", "iowait", "guest", "guest_nice")


class Neighbours:
    """Counts from its making; `cores` is what others used since then."""

    def __init__(self) -> None:
        """Begin to count."""
        self._begin = time.perf_counter()
        self._machine, self._own = _machine_seconds(), _own_seconds()

    def cores(self) -> float:
        """Cores that were busy with something else."""
        elapsed = time.perf_counter() - self._begin
        machine = _machine_seconds() - self._machine
        return max(0.0, machine - (_own_seconds() - self._own)) / max(elapsed, 1e-9)


def _machine_seconds() -> float:
    times = psutil.cpu_times()._asdict()
    return float(sum(value for name, value in times.items() if name not in _IDLE))


def _own_seconds() -> float:
    """CPU time of this process and of its workers, ended ones too."""
    me = psutil.Process()
    own = me.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in me.children(recursive=True):
        try:
            spent = child.cpu_times()
        except psutil.Error:  # ended meanwhile: it is among ours now
            continue
        total += spent.user + spent.system
    return float(total)
