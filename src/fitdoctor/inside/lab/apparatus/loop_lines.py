"""Where a hand-written loop spends its time, if neither its loader nor its step can run alone.

A generator of the user's cannot be read alone without taking data from the loop, and a step written
out in the loop's body cannot be called again. So the loop keeps running, and a thread looks at
its stack: in the iterator that the loop reads, or in a function whose arrays go into the step
(loading); in a framework (the step); or in neither (the user's own code between them).
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare
from fitdoctor.inside.lab.apparatus.loop_data import flows_into, is_data
from fitdoctor.inside.lab.apparatus.stacks import LOCK_HELD_S, SWITCH_INTERVAL_S
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.ledger.native_work import NativeWork

PERIOD_S = 0.004
GOLDEN = 0.6180339887
# A loop that ends meanwhile is not watched forever.
LONGEST_NS = 60_000_000_000
MOST_LINES = 5
# fitdoctor's own frames are around the calls that mark a loop's steps.
FRAMEWORKS = frozenset({"keras", "tensorflow", "jax", "jaxlib", "torch", "optree", "fitdoctor"})

Line = tuple[str, int, str]
# The function, the line it is called from, and whether a framework was at work in it.
Called = tuple[CodeType, CodeType, int, bool]


class Sample(NamedTuple):
    """One look at the loop's thread, and the time since the one before."""

    ns: int
    cpu_ns: int  # of the loop's own thread
    process_cpu_ns: int  # threads of a library may work for it, or for a step still under way
    lock_held: bool
    line: Line | None  # of the user's


Share = list[Sample]  # in one of the three


def _summed(share: Share) -> LoopShare:
    lines = Counter(one.line for one in share if one.line is not None)
    return LoopShare(
        ns=sum(one.ns for one in share),
        cpu_ns=sum(one.cpu_ns for one in share),
        process_cpu_ns=sum(one.process_cpu_ns for one in share),
        samples=len(share),
        lock_held=sum(one.lock_held for one in share),
        lines=tuple((*line, count) for line, count in lines.most_common(MOST_LINES)),
    )


class LoopSampler:
    """Samples the loop's thread while it runs; then traces one element as it is made."""

    def __init__(self, loop_code: CodeType) -> None:
        """To be made on the loop's own thread, inside its body."""
        self._thread = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._thread)
        # Of the functions around the body: the `for`s that it lies in, by their instruction.
        self._fors = _fors_around(loop_code)
        self._stop = threading.Event()
        self._sampler = threading.Thread(target=self._run, daemon=True, name="fitdoctor-lines")
        self._interval = sys.getswitchinterval()
        self.loading: Share = []
        self.step: Share = []
        self.own: Share = []
        self._maker: Counter[Line] = Counter()
        self._calls: dict[Called, Share] = {}  # of the user's functions, by the loop itself
        self._step_lines: set[tuple[CodeType, int]] = set()
        self._returned_data: set[CodeType] = set()
        self._work = NativeWork()

    # -- sampling ------------------------------------------------------------------

    def begin(self) -> None:
        """Start to look."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._sampler.start()

    def end(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._sampler.join()

    def _run(self) -> None:
        try:
            self._sample()
        finally:
            sys.setswitchinterval(self._interval)

    def _sample(self) -> None:
        last = self._clocks()
        begin, count = last[0], 0
        while not self._stop.is_set() and last[0] - begin < LONGEST_NS:
            # Never in step with the loop: a part that comes at every fourth millisecond is not all.
            count += 1
            asked = PERIOD_S * (0.5 + count * GOLDEN % 1.0)
            time.sleep(asked)
            now = self._clocks()
            frame = sys._current_frames().get(self._thread)
            if frame is not None:
                passed, own, process = (b - a for a, b in zip(last, now, strict=True))
                lock_held = passed > (asked + LOCK_HELD_S) * 1e9
                share, line = self._look(frame)
                share.append(Sample(passed, own, process, lock_held, line))
            last = now

    def _clocks(self) -> tuple[int, int, int]:
        own = time.clock_gettime_ns(self._clock)
        return time.perf_counter_ns(), own, time.process_time_ns()

    def _look(self, frame: FrameType) -> tuple[Share, Line | None]:
        stack = list(_outwards(frame))
        # What a `for` around the body calls for its next element, if it does so now.
        pairs = itertools.pairwise(stack)
        maker = next((callee for callee, caller in pairs if self._is_read(callee, caller)), None)
        if maker is not None:
            self._maker[_line_of(maker, maker.f_code.co_firstlineno)] += 1
            share = self.loading
        else:
            share = self._beside_loading(stack)
        user = next((one for one in stack if is_user_file(one.f_code.co_filename)), None)
        return share, None if user is None else _line_of(user, user.f_lineno)

    def _beside_loading(self, stack: list[FrameType]) -> Share:
        depth = next((n for n, one in enumerate(stack) if one.f_code in self._fors), None)
        if not depth:
            return self.own
        caller, callee = stack[depth], stack[depth - 1]
        in_framework = any(_is_framework(one) for one in stack[:depth])
        if in_framework and not _is_users_generator(callee):
            self._step_lines.add((caller.f_code, caller.f_lineno))
            return self.step
        called = (callee.f_code, caller.f_code, caller.f_lineno, in_framework)
        return self._calls.setdefault(called, [])

    def _is_read(self, callee: FrameType, caller: FrameType) -> bool:
        """Whether a `for` around the body asked `callee` for its next element.

        A generator that the body itself lies in is no loader: it trains. Nor is what other `for`s
        go through inside the body, as a model's parameters.
        """
        fors = self._fors.get(caller.f_code, frozenset())
        return callee.f_code not in self._fors and _instruction(caller) in fors

    # -- one element, traced ---------------------------------------------------------

    def trace(self) -> None:
        """Look at the next element as it is made: how much of that is native?

        A debugger's or a coverage tool's own tracing is left alone.
        """
        if sys.gettrace() is None and sys.getprofile() is None:
            sys.settrace(self._on_call)

    def _on_call(self, frame: FrameType, event: str, _argument: Any) -> Any:
        caller = frame.f_back
        if event != "call" or caller is None or caller.f_code not in self._fors:
            return None
        if self._is_read(frame, caller) or frame.f_code in self._returned_data:
            self._work.begin(until=frame)
            return self._work.on_event
        if is_user_file(frame.f_code.co_filename):
            return self._on_return
        if _is_framework(frame):
            self._step_lines.add((caller.f_code, caller.f_lineno))
        return None

    def _on_return(self, frame: FrameType, event: str, value: Any) -> Any:
        if event == "return" and is_data(value):
            self._returned_data.add(frame.f_code)
        return self._on_return

    def end_trace(self) -> bool:
        """Tracing ends with the element; where none was made, here.

        Returns:
            Whether to trace again: a function that makes data was known only when it returned.
        """
        self._work.end()
        if sys.gettrace() == self._on_call:
            sys.settrace(None)
        return bool(self._returned_data) and self._work.to_record() is None

    def result(self, iterations: int) -> LoopLines:
        """What was seen."""
        self._sort_calls()
        maker = self._maker.most_common(1)
        return LoopLines(
            loading=_summed(self.loading),
            step=_summed(self.step),
            own=_summed(self.own),
            iterations=iterations,
            maker=maker[0][0] if maker else None,
            native=self._work.to_record(),
        )

    def _sort_calls(self) -> None:
        """A function of the user's makes data, or it does something else."""
        for (function, code, line, in_framework), share in self._calls.items():
            steps = frozenset(one for where, one in self._step_lines if where is code)
            if function in self._returned_data and flows_into(code, line, steps):
                self.loading.extend(share)
                place = (function.co_filename, function.co_firstlineno, function.co_name)
                self._maker[place] += len(share)
            else:
                (self.step if in_framework else self.own).extend(share)
        self._calls = {}


def _fors_around(loop_code: CodeType) -> dict[CodeType, frozenset[int]]:
    """The function that the loop's marker is called in, and the user's functions that call it."""
    found: dict[CodeType, frozenset[int]] = {}
    for frame in _outwards(sys._getframe(1)):
        code = frame.f_code
        if (found or code is loop_code) and is_user_file(code.co_filename):
            found[code] = found.get(code, frozenset()) | _enclosing(code, frame.f_lasti)
    return found or {loop_code: frozenset()}


def _enclosing(code: CodeType, offset: int) -> frozenset[int]:
    """The `for`s whose bodies an instruction lies in."""
    return frozenset(
        one.offset
        for one in dis.get_instructions(code)
        if one.opname == "FOR_ITER" and one.offset < offset < one.argval
    )


def _instruction(frame: FrameType) -> int:
    """Where the instruction that a frame is at begins; specialised ones end in cached data."""
    return _beginning(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=4096)
def _beginning(code: CodeType, offset: int) -> int:
    return max(one.offset for one in dis.get_instructions(code) if one.offset <= offset)


def _is_users_generator(frame: FrameType) -> bool:
    """Expressions in brackets are generators, too, but no functions of the user's."""
    code = frame.f_code
    is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
    return is_generator and is_user_file(code.co_filename) and not code.co_name.startswith("<")


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_framework(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    return name.partition(".")[0] in FRAMEWORKS


def _line_of(frame: FrameType, line: int) -> Line:
    return frame.f_code.co_filename, line, frame.f_code.co_name
