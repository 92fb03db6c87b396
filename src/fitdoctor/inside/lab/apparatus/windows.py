"""Timing repeated work in windows, and repeating the windows that other processes disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypedDict

from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.ledger.cpu import CpuUse, CpuWatch

WINDOW_S = 0.12
MIN_WINDOWS = 4
MIN_ROUNDS = 3  # of two kinds of work in turns
MAX_REPEATS = 3  # a probe may take this many times its planned length on a busy machine
PATIENCE_S = 8.0  # and all probes of one examination together this much longer than planned


class Patience:
    """Extra seconds that may still be spent on repeating disturbed windows."""

    def __init__(self, seconds: float = PATIENCE_S) -> None:
        """Start with all of them."""
        self.seconds = seconds

    def spend(self, seconds: float) -> None:
        """Take seconds off; none are left when it reaches zero."""
        self.seconds = max(0.0, self.seconds - max(0.0, seconds))


_patience: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def measuring_with(patience: Patience) -> Iterator[None]:
    """Let all windows meanwhile share this patience; outside, each `measure` has its own."""
    before = _patience.set(patience)
    try:
        yield
    finally:
        _patience.reset(before)


class TimedFields(TypedDict):
    """The fields that every timed result has: `FrozenBatch(**windows.fields(), rows=32)`."""

    ns: tuple[float, ...]
    units: int
    clean: bool
    dirty_windows: int
    own_cores: float
    children_cores: float


@dataclass
class Windows:
    """Nanoseconds per unit of work, window by window."""

    ns: list[float] = field(default_factory=list)  # clean windows, or all if none was clean
    cpu: list[CpuUse] = field(default_factory=list)
    dirty: int = 0
    units: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether there were enough undisturbed windows."""
        return len([use for use in self.cpu if use.is_clean]) >= MIN_WINDOWS // 2

    @property
    def rounded_ns(self) -> tuple[float, ...]:
        """In whole nanoseconds, as recordings have them."""
        return tuple(round(value) for value in self.ns)

    def fields(self) -> TimedFields:
        """For a result that has more than these."""
        wall = sum(use.wall_ns for use in self.cpu) or 1
        return {
            "ns": self.rounded_ns,
            "units": self.units,
            "clean": self.is_clean,
            "dirty_windows": self.dirty,
            "own_cores": sum(use.own_cores * use.wall_ns for use in self.cpu) / wall,
            "children_cores": sum(use.children_cores * use.wall_ns for use in self.cpu) / wall,
        }

    def timed(self) -> Timed:
        """The plain result."""
        return Timed(**self.fields())


def measure(
    work: Callable[[], int],
    synchronize: Callable[[], None],
    *,
    seconds: float,
    window_s: float = WINDOW_S,
) -> Windows:
    """Run `work` (which returns how many units it did) for a while, timed in windows.

    Each window ends with a synchronisation, so that enqueued work is counted when done.
    Windows during which other processes used our cores are kept only if there were no clean ones
    within three times the planned length.
    """
    patience = _patience.get() or Patience()
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
    patience = _patience.get() or Patience()
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
