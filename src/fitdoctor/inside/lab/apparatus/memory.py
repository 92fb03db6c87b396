"""How much memory can still be had."""

from __future__ import annotations

import os
import resource

from fitdoctor.inside.ledger.cgroup import own_cgroup

# Limits of a process (ulimit -v, ulimit -d), and what /proc calls that which counts for each.
_LIMITS = ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))


def available_bytes() -> int | None:
    """Memory that can still be had: of the machine, of the container, and of this process."""
    found = [_of_machine(), own_cgroup().memory_left_bytes(), *_of_process()]
    return min((one for one in found if one is not None), default=None)


def own_bytes() -> int | None:
    """Memory of this process that no file stands for: pages of mapped files come and go."""
    return _kilobytes("/proc/self/status", "RssAnon")


def _of_machine() -> int | None:
    free = _kilobytes("/proc/meminfo", "MemAvailable")
    if free is not None:
        return free
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _of_process() -> list[int]:
    left = []
    for limit, name in _LIMITS:
        most, _ = resource.getrlimit(limit)
        used = _kilobytes("/proc/self/status", name)
        if most != resource.RLIM_INFINITY and used is not None:
            left.append(max(0, most - used))
    return left


def _kilobytes(path: str, name: str) -> int | None:
    """A row of a kernel file that says kB, in bytes."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
