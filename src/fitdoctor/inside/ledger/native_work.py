"""How much of a piece of Python work is spent in native calls, which array code keeps.

A loader that decodes images one by one is on the stack as Python, yet nearly all its time is
native. Rewriting its loop gains little; only the time between native calls can go.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from fitdoctor.contract.evidence.timing import NativePart

# Between two events of the interpreter, Python itself needs well under a microsecond. A gap
# this long was native code at work: shorter calls on small values are what arrays do away with.
NATIVE_GAP_NS = 20_000
# Tracing makes Python code some ten times slower: after this long, what was seen must do.
LONGEST_TRACE_NS = 300_000_000

# Names of functions that draw random numbers: work that calls none of them can be done once.
RANDOM_NAMES = frozenset(
    {
        *("beta", "binomial", "exponential", "gauss", "lognormal", "multivariate_normal", "normal"),
        *("poisson", "standard_normal", "uniform", "rand", "randint", "randn", "randrange"),
        *("random", "random_sample", "getrandbits", "integers", "default_rng"),
        *("choice", "choices", "permutation", "permuted", "sample", "shuffle"),
    }
)

# Native calls that make Python's lists of arrays, or work on lists: array code has no use for them.
OF_LISTS = frozenset({"tolist", "fromiter", "sum", "sorted", "min", "max", "join"})
# These make arrays of lists. Where Python touched so many values, they were lists of numbers;
# where it did not, they are copies of arrays, which stay.
TO_ARRAYS = frozenset({"array", "asarray"})
MANY_EVENTS = 20_000

Result = TypeVar("Result")
Place = tuple[CodeType | None, int, str]


class NativeWork:
    """The native part of one call, seen by the interpreter's trace events.

    In CPU time of the thread: waiting for the interpreter's lock or for a core is no work.
    """

    def __init__(self) -> None:
        self.spent_ns = 0
        self.complete = False
        self._last = 0
        self._place: Place = (None, 0, "begin")
        self._gaps: dict[Place, tuple[int, int]] = {}  # after the event there: total, count
        self._begin = 0
        self._end = 0
        self._until: FrameType | None = None
        self._is_on = False

    def of(self, function: Callable[[], Result]) -> Result:
        """Call `function` on this thread and look at it; its result or exception goes through.

        A debugger's or a coverage tool's own tracing is left alone: then nothing is seen.
        """
        if sys.gettrace() is not None or sys.getprofile() is not None:
            return function()
        self.begin()
        try:
            return function()
        finally:
            self.end()

    def begin(self, until: FrameType | None = None) -> None:
        """Look at what this thread does from now on, or until a frame is left."""
        self._begin = self._last = time.thread_time_ns()
        self._end = self._begin + LONGEST_TRACE_NS
        self._until = until
        self._is_on = True
        sys.setprofile(self.on_event)
        sys.settrace(self.on_event)

    def end(self) -> None:
        """Stop looking, if that was not done before."""
        if not self._is_on:
            return
        self._is_on = False
        self.complete = sys.gettrace() is not None
        self._until = None
        sys.settrace(None)
        sys.setprofile(None)
        self.spent_ns = time.thread_time_ns() - self._begin

    def to_record(self) -> NativePart | None:
        """What was seen, or None."""
        events = sum(count for _, count in self._gaps.values())
        if not events:
            return None
        return NativePart(
            native_ns=self.native_ns,
            traced_ns=self.spent_ns,
            complete=self.complete,
            events=events,
            random=self.draws_random_numbers,
        )

    @property
    def draws_random_numbers(self) -> bool:
        """Whether code that ran names a function that does; NumPy's leave no event to be seen."""
        seen = {code for code, _, _ in self._gaps if code is not None}
        return any(not RANDOM_NAMES.isdisjoint(code.co_names) for code in seen)

    @property
    def native_ns(self) -> int:
        """The gaps at places where they are long on average.

        A machine that was shared or interrupted leaves long gaps, too, but at random places,
        among thousands of short ones.
        """
        events = sum(count for _, count in self._gaps.values())
        goes = OF_LISTS | TO_ARRAYS if events >= MANY_EVENTS else OF_LISTS
        return sum(
            total
            for (_, _, event), (total, count) in self._gaps.items()
            if total >= NATIVE_GAP_NS * count and event not in goes
        )

    def on_event(self, frame: FrameType, event: str, argument: Any) -> Any:
        """What the interpreter calls for each of its events."""
        now = time.thread_time_ns()
        total, count = self._gaps.get(self._place, (0, 0))
        self._gaps[self._place] = (total + now - self._last, count + 1)
        called = getattr(argument, "__name__", event) if event == "c_call" else event
        self._place = (frame.f_code, frame.f_lineno, called)
        if frame is self._until and event == "return":
            self.end()
            return None
        if now > self._end:
            sys.settrace(None)
            sys.setprofile(None)
        self._last = time.thread_time_ns()
        return self.on_event
