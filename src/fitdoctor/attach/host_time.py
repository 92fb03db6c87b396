"""Where the threads of a process stand: in the user's Python, in a framework, or waiting.

py-spy takes every thread, or only those that run now, but not both at once. So windows of the two
kinds take turns: what stands at a line but does not run there waits there, or is in native code
that py-spy takes for waiting. The kernel's CPU time of the main thread tells these two apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fitdoctor.attach.stacks import Frame, Stack, ThreadStacks


@dataclass(frozen=True)
class Window:
    """Samples of some seconds: of every thread, or of those that run."""

    seconds: float
    running_only: bool
    threads: Sequence[ThreadStacks]


@dataclass(frozen=True)
class Shares:
    """What the main thread does, as shares of its time; they sum to one."""

    own: float
    framework: float
    native: float  # on the CPU, where py-spy sees no Python run
    waiting: float


@dataclass(frozen=True)
class HostLine:
    """One line of the user's, and the time of its thread that passes while it is the innermost.

    On the main thread shares are of its time. On others they count threads: 1.5 at once, say.
    """

    file: str
    line: int
    function: str
    on_main: bool
    running: float
    waiting: float  # or in native code
    inside: str | None  # the package that it calls, if that is where most samples are

    @property
    def share(self) -> float:
        """All of it."""
        return self.running + self.waiting

    def to_json(self) -> dict[str, Any]:
        """The form of a line in the JSON result."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "thread": "main" if self.on_main else "other",
            "running": round(self.running, 3),
            "waiting": round(self.waiting, 3),
            "inside": self.inside,
        }


@dataclass(frozen=True)
class HostTime:
    """The main thread's shares, the lines of the user's in order, and where libraries wait."""

    samples: int
    shares: Shares | None
    lines: tuple[HostLine, ...]
    waits_at: Frame | None  # the innermost frame of most of the native and waiting time


@dataclass
class _Counted:
    """Shares so far, per place."""

    standing: float = 0.0
    running: float = 0.0
    inside: Counter[str | None] = field(default_factory=Counter)


_Key = tuple[bool, str, int, str]


def host_time(windows: Sequence[Window], cpu_share: float | None = None) -> HostTime:
    """Shares and lines of all windows together.

    Args:
        windows: Of both kinds.
        cpu_share: How much of its time the main thread was on a CPU, by the kernel.
    """
    everything = [one for one in windows if not one.running_only]
    running = [one for one in windows if one.running_only]
    rate = _samples_per_s(everything)
    main = [stack for one in everything for stack in _main_stacks(one)]
    if rate is None or not main:
        return HostTime(0, None, (), None)
    full, half = float(len(main)), max(1.0, rate * sum(one.seconds for one in running))
    busy = [stack for one in running for stack in _main_stacks(one)]
    return HostTime(
        samples=len(main) + len(busy),
        shares=_shares(busy, half, cpu_share),
        lines=_lines(everything, running, full, half),
        waits_at=_waits_at(main, busy, full, half),
    )


def _samples_per_s(windows: Iterable[Window]) -> float | None:
    """How often the main thread was looked at: it is always there."""
    seconds = looks = 0.0
    for one in windows:
        seconds += one.seconds
        looks += len(_main_stacks(one))
    return looks / seconds if seconds else None


def _main_stacks(window: Window) -> list[Stack]:
    return [stack for thread in window.threads if thread.is_main for stack in thread.stacks]


def _shares(busy: Sequence[Stack], looks: float, cpu_share: float | None) -> Shares:
    own = sum(1 for stack in busy if stack and stack[-1].library is None) / looks
    running = min(1.0, len(busy) / looks)
    own = min(own, running)
    native = max(0.0, min(1.0, cpu_share or 0.0) - running)
    return Shares(own, running - own, native, 1.0 - running - native)


def _lines(
    everything: Sequence[Window], running: Sequence[Window], full: float, half: float
) -> tuple[HostLine, ...]:
    counted: dict[_Key, _Counted] = defaultdict(_Counted)
    for windows, looks in ((everything, full), (running, half)):
        for key, leaf in _own_frames(windows):
            one = counted[key]
            one.inside[leaf] += 1
            if windows is everything:
                one.standing += 1 / looks
            else:
                one.running += 1 / looks
    lines = (
        HostLine(
            file=file,
            line=line,
            function=function,
            on_main=on_main,
            running=one.running,
            waiting=max(0.0, one.standing - one.running),
            inside=one.inside.most_common(1)[0][0],
        )
        for (on_main, file, line, function), one in counted.items()
    )
    return tuple(sorted(lines, key=_rank))


def _rank(line: HostLine) -> tuple[bool, float]:
    """The main thread's lines first. Other threads may wait for ever, so there work counts."""
    return (not line.on_main, -line.share if line.on_main else -line.running)


def _own_frames(windows: Sequence[Window]) -> Iterable[tuple[_Key, str | None]]:
    """The innermost line of the user's in each stack, and the package of the innermost frame."""
    for window in windows:
        for thread in window.threads:
            for stack in thread.stacks:
                own = next((one for one in reversed(stack) if one.library is None), None)
                if own is not None:
                    yield (
                        (thread.is_main, own.file, own.line, own.function),
                        stack[-1].library,
                    )


def _waits_at(
    main: Sequence[Stack], busy: Sequence[Stack], full: float, half: float
) -> Frame | None:
    waiting: dict[Frame, float] = defaultdict(float)
    for stacks, weight in ((main, 1 / full), (busy, -1 / half)):
        for stack in stacks:
            if stack:
                waiting[stack[-1]] += weight
    frame, share = max(waiting.items(), key=lambda one: one[1], default=(None, 0.0))
    return frame if share > 0 else None
