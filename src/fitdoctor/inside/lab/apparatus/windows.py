"""Timing repeated work in windows, and repeating the windows that other processes disturbed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

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


class Work(NamedTuple):
    """What is timed: called again and again, and waited for at the end of each window."""

    run: Callable[[], Any]
    wait: Callable[[], Any] = lambda: None
    units: int = 1  # done by each call


def measure(
    run: Callable[[], Any],
    wait: Callable[[], Any] = lambda: None,
    *,
    seconds: float,
    units: int = 1,
    window_s: float = WINDOW_S,
) -> Windows:
    """Call `run` (which does so many units each time) for a while, timed in windows.

    Each window ends with `wait`, so that enqueued work is counted when done.
    Windows during which other processes used our cores are kept only if there were no clean ones
    within three times the planned length.
    """
    (windows,) = _rounds([Work(run, wait, units)], seconds, window_s, MIN_WINDOWS)
    return windows


def in_turns(
    first: Work, second: Work, *, seconds: float, window_s: float = WINDOW_S
) -> tuple[Windows, Windows]:
    """Two kinds of work, window by window in turns: a machine that changes its pace changes both.

    Of each round both windows are kept, or neither.
    """
    one, other = _rounds([first, second], seconds, window_s, MIN_ROUNDS)
    return one, other


def durations_ns(work: Callable[[], Any], times: int) -> list[int]:
    """How long each of some calls took, the shortest first."""
    found = []
    for _ in range(times):
        begin = time.perf_counter_ns()
        work()
        found.append(time.perf_counter_ns() - begin)
    return sorted(found)


def _rounds(
    works: Sequence[Work], seconds: float, window_s: float, fewest: int
) -> Sequence[Windows]:
    """The windows of each work: the undisturbed rounds, or all others if there were too few."""
    patience = _patience.get() or Patience()
    begin = time.perf_counter()
    clean, disturbed = [Windows() for _ in works], [Windows() for _ in works]
    longest = min(MAX_REPEATS * seconds, seconds + patience.seconds)
    rounds = 0
    while True:
        order = range(len(works)) if rounds % 2 == 0 else reversed(range(len(works)))
        found = {which: _window(works[which], window_s) for which in order}
        rounds += 1
        kept = clean if all(use.is_clean for _, use in found.values()) else disturbed
        for which, (units, use) in found.items():
            kept[which].ns.append(use.wall_ns / units)
            kept[which].cpu.append(use)
            kept[which].units += units
        elapsed = time.perf_counter() - begin
        if elapsed >= seconds and len(clean[0].ns) >= fewest:
            break
        if elapsed >= longest and rounds >= 2:
            break
    patience.spend(time.perf_counter() - begin - seconds)
    chosen = clean if len(clean[0].ns) >= 2 else disturbed
    for windows in chosen:
        windows.dirty = len(disturbed[0].ns)
    return chosen


def _window(work: Work, window_s: float) -> tuple[int, CpuUse]:
    watch = CpuWatch()
    begin = time.perf_counter()
    units = 0
    while True:
        work.run()
        units += work.units
        if time.perf_counter() - begin >= window_s:
            break
    work.wait()
    return units, watch.stop()
