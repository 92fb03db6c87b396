"""Timing repeated work in windows, and repeating the windows that others disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fitdoctor.inside.ledger.cpu import CpuUse, CpuWatch

WINDOW_S = 0.12
MIN_WINDOWS = 4
MIN_ROUNDS = 3  # of two kinds of work in turns
MAX_REPEATS = 3  # a probe may take this many times its planned length on a busy machine
PATIENCE_S = 8.0  # and all probes together this much longer than planned


class Patience:
    """Extra seconds that may still be spent on repeating disturbed windows."""

    def __init__(self, seconds: float) -> None:
        """Start with all of them."""
        self.seconds = seconds

    def spend(self, seconds: float) -> None:
        """Take seconds off; none are left when it reaches zero."""
        self.seconds = max(0.0, self.seconds - max(0.0, seconds))


patience = Patience(PATIENCE_S)


@dataclass
class Windows:
    """Nanoseconds per unit of work, window by window."""

    ns: list[float] = field(default_factory=list)  # clean windows, or all if none was clean
    cpu: list[CpuUse] = field(default_factory=list)
    dirty: int = 0
    units: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether enough undisturbed windows were had."""
        return len([use for use in self.cpu if use.is_clean]) >= MIN_WINDOWS // 2

    def to_record(self) -> dict[str, Any]:
        """The form in the recording."""
        kept = self.cpu
        wall = sum(use.wall_ns for use in kept) or 1
        return {
            "ns": [round(value) for value in self.ns],
            "units": self.units,
            "clean": self.is_clean,
            "dirty_windows": self.dirty,
            "own_cores": sum(use.own_cores * use.wall_ns for use in kept) / wall,
            "children_cores": sum(use.children_cores * use.wall_ns for use in kept) / wall,
        }


def measure(
    work: Callable[[], int],
    synchronize: Callable[[], None],
    *,
    seconds: float,
    window_s: float = WINDOW_S,
) -> Windows:
    """Run `work` (which returns how many units it did) for a while, timed in windows.

    Each window ends with a synchronisation, so that enqueued work is counted when done.
    Windows during which other processes used our cores are kept only if no clean ones
    could be had within three times the planned length.
    """
    begin = time.perf_counter()
    clean, disturbed = Windows(), Windows()
    longest = min(MAX_REPEATS * seconds, seconds + patience.seconds)
    while True:
        ns, units, use = _window(work, synchronize, window_s)
        target = clean if use.is_clean else disturbed
        target.ns.append(ns)
        target.cpu.append(use)
        target.units += units
        elapsed = time.perf_counter() - begin
        if elapsed >= seconds and len(clean.ns) >= MIN_WINDOWS:
            break
        if elapsed >= longest and len(clean.ns) + len(disturbed.ns) >= 2:
            break
    patience.spend(time.perf_counter() - begin - seconds)
    chosen = clean if len(clean.ns) >= 2 else disturbed
    chosen.dirty = len(disturbed.ns)
    return chosen


Work = tuple[Callable[[], int], Callable[[], None]]  # does some units; waits until they are done


def in_turns(
    first: Work, second: Work, *, seconds: float, window_s: float = WINDOW_S
) -> tuple[Windows, Windows]:
    """Two kinds of work, window by window in turns: a machine that changes its pace changes both.

    Of each round both windows are kept, or neither.
    """
    begin = time.perf_counter()
    clean, disturbed = (Windows(), Windows()), (Windows(), Windows())
    longest = min(MAX_REPEATS * seconds, seconds + patience.seconds)
    rounds = 0
    while True:
        order = (0, 1) if rounds % 2 == 0 else (1, 0)
        found = {which: _window(*(first, second)[which], window_s) for which in order}
        rounds += 1
        kept = clean if all(use.is_clean for _, _, use in found.values()) else disturbed
        for which, (ns, units, use) in found.items():
            kept[which].ns.append(ns)
            kept[which].cpu.append(use)
            kept[which].units += units
        elapsed = time.perf_counter() - begin
        if elapsed >= seconds and len(clean[0].ns) >= MIN_ROUNDS:
            break
        if elapsed >= longest and rounds >= 2:
            break
    patience.spend(time.perf_counter() - begin - seconds)
    chosen = clean if len(clean[0].ns) >= 2 else disturbed
    for windows in chosen:
        windows.dirty = len(disturbed[0].ns)
    return chosen


def _window(
    work: Callable[[], int], synchronize: Callable[[], None], window_s: float
) -> tuple[float, int, CpuUse]:
    watch = CpuWatch()
    begin = time.perf_counter()
    units = 0
    while True:
        units += work()
        if time.perf_counter() - begin >= window_s:
            break
    synchronize()
    use = watch.stop()
    return use.wall_ns / max(1, units), units, use
