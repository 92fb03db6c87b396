"""CPU and memory limits that the kernel puts on this group of processes (Linux cgroups)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_NS_PER_US = 1_000


@dataclass(frozen=True)
class Throttling:
    """How often and for how long the group was held back; None = not known."""

    periods: int | None
    duration_ns: int | None


@dataclass(frozen=True)
class Cgroup:
    """The folders of this process's group in version 1 or 2, each with its ancestors."""

    cpu: tuple[Path, ...]
    memory: tuple[Path, ...]

    def cpu_limit(self) -> float | None:
        """Cores the group may use, the tightest of all its levels; None = no limit."""
        limits = [limit for folder in self.cpu if (limit := _cpu_limit(folder)) is not None]
        return min(limits, default=None)

    def memory_limit_bytes(self) -> int | None:
        """Bytes the group may hold, the tightest of all its levels; None = no limit."""
        limits = [limit for folder in self.memory if (limit := _memory_limit(folder)) is not None]
        return min(limits, default=None)

    def memory_left_bytes(self) -> int | None:
        """Bytes that the group may still take, at the tightest of its levels; None = no limit."""
        left = [
            max(0, limit - used)
            for folder in self.memory
            if (limit := _memory_limit(folder)) is not None
            and (used := _memory_used(folder)) is not None
        ]
        return min(left, default=None)

    def throttling(self) -> Throttling:
        """Counters of the level that has a limit, or of the innermost one."""
        limited = [folder for folder in self.cpu if _cpu_limit(folder) is not None]
        for folder in (*limited, *self.cpu):
            counters = _counters(folder / "cpu.stat")
            if "nr_throttled" in counters:
                return Throttling(counters["nr_throttled"], _throttled_ns(counters))
        return Throttling(None, None)


def own_cgroup(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Cgroup:
    """Find the group of this process; the script it starts is in the same one."""
    cpu: tuple[Path, ...] = ()
    memory: tuple[Path, ...] = ()
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2: one tree for everything
            cpu = cpu or _levels(root, path)
            memory = memory or _levels(root, path)
            continue
        names = controllers.split(",")
        if "cpu" in names:
            cpu = _levels(_mount(root, controllers, "cpu"), path)
        if "memory" in names:
            memory = _levels(_mount(root, controllers, "memory"), path)
    return Cgroup(cpu, memory)


def _mount(root: Path, controllers: str, name: str) -> Path:
    return root / controllers if (root / controllers).is_dir() else root / name


def _levels(mount: Path, path: str) -> tuple[Path, ...]:
    """The group's folder and those above it; only the mount itself inside a container."""
    inner = mount / path.lstrip("/")
    levels = [inner, *inner.parents]
    return tuple(level for level in levels if level.is_relative_to(mount) and level.is_dir())


def _cpu_limit(folder: Path) -> float | None:
    words = _read(folder / "cpu.max").split()
    if not words:
        words = [
            *_read(folder / "cpu.cfs_quota_us").split(),
            *_read(folder / "cpu.cfs_period_us").split(),
        ]
    if len(words) != 2 or words[0] == "max":
        return None
    quota, period = int(words[0]), int(words[1])
    return quota / period if quota > 0 and period > 0 else None


def _memory_limit(folder: Path) -> int | None:
    text = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")
    # Version 1 writes "no limit" as the largest page-aligned number.
    return int(text) if text.strip().isdigit() and int(text) < 1 << 60 else None


def _memory_used(folder: Path) -> int | None:
    text = _read(folder / "memory.current") or _read(folder / "memory.usage_in_bytes")
    if not text.strip().isdigit():
        return None
    # Files that were read lately are given back when something else needs the room.
    files = _counters(folder / "memory.stat")
    return max(0, int(text) - files.get("inactive_file", files.get("total_inactive_file", 0)))


def _throttled_ns(counters: dict[str, int]) -> int | None:
    if "throttled_usec" in counters:
        return counters["throttled_usec"] * _NS_PER_US
    return counters.get("throttled_time")


def _counters(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _read(path: Path) -> str:
    """The text of a kernel file, empty where this kernel does not have it."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
