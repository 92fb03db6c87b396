"""Which lines of the user's code run while data is loaded, and who holds the interpreter lock."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from types import FrameType

from fitdoctor.contract.evidence.timing import Stacks
from fitdoctor.contract.places import Seen
from fitdoctor.inside.ledger.callsite import is_user_file

PERIOD_S = 0.01
_LAB = "fitdoctor.inside.lab."  # our own probes
# Python hands its lock over at the end of a short call long before the usual 5 ms are up,
# so a sampler that waits for it would never see such calls running. It asks more often.
SWITCH_INTERVAL_S = 0.0002
# Without contention a thread wakes within this time; later, another thread held the lock.
LOCK_HELD_S = 0.00025
MOST_PLACES = 5


class StackSampler:
    """Samples all threads' stacks from a thread of its own, for the length of a probe."""

    def __init__(
        self, period_s: float = PERIOD_S, *, ignoring: frozenset[int] = frozenset()
    ) -> None:
        """Threads to ignore: see `in_user_code`."""
        self._period = period_s
        self._ignored = ignoring
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="fitdoctor-stacks")
        self.samples = 0
        self.with_user_code = 0
        self.lock_held = 0
        self.lines: Counter[tuple[str, int, str]] = Counter()
        self.functions: Counter[tuple[str, int, str]] = Counter()
        self.leaves: Counter[str] = Counter()

    def __enter__(self) -> StackSampler:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        sys.setswitchinterval(self._interval)

    def _run(self) -> None:
        own = threading.get_ident()
        while not self._stop.is_set():
            asked = time.perf_counter()
            time.sleep(self._period)
            late = time.perf_counter() - asked - self._period
            self.samples += 1
            self.lock_held += late > LOCK_HELD_S
            self._look(sys._current_frames(), own)

    def _look(self, frames: dict[int, FrameType], own: int) -> None:
        seen = False
        for thread, frame in frames.items():
            if thread == own or thread in self._ignored:
                continue
            place = innermost_user_line(frame)
            if place is None:
                continue
            seen = True
            file, line, function, first_line = place
            self.lines[(file, line, function)] += 1
            self.functions[(file, first_line, function)] += 1
            self.leaves[frame.f_code.co_name] += 1
        self.with_user_code += seen

    def result(self) -> Stacks:
        """The samples as shares and the hottest places."""
        total = max(1, self.samples)
        return Stacks(
            samples=self.samples,
            user_share=self.with_user_code / total,
            lock_share=self.lock_held / total,
            lines=_top(self.lines),
            functions=_top(self.functions),
        )


def in_user_code() -> frozenset[int]:
    """Threads that run the user's code now, before a probe begins: a monitor, an earlier loader."""
    frames = sys._current_frames().items()
    return frozenset(thread for thread, frame in frames if innermost_user_line(frame) is not None)


def innermost_user_line(frame: FrameType | None) -> tuple[str, int, str, int] | None:
    """The user's line nearest to the top of the stack, only above our own probe.

    Below the probe lies the user's call of `fit`, which is not what runs now.
    """
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file):
            named = _named(frame)
            return file, frame.f_lineno, named.f_code.co_name, named.f_code.co_firstlineno
        if str(frame.f_globals.get("__name__")).startswith(_LAB):
            return None
        frame = frame.f_back
    return None


def _named(frame: FrameType) -> FrameType:
    """The function around a comprehension or lambda, whose own name says nothing."""
    found = frame
    while found.f_code.co_name.startswith("<"):
        around = found.f_back
        if around is None or around.f_code.co_filename != frame.f_code.co_filename:
            return frame
        found = around
    return found


def _top(counter: Counter[tuple[str, int, str]]) -> tuple[Seen, ...]:
    return tuple((*place, count) for place, count in counter.most_common(MOST_PLACES))
