"""Where a hand-written loop spends its time: its data, its step, reading values, its own code.

The loop keeps running, and a thread looks at its stack. In the iterator that the loop reads, or in
work whose arrays go into the step: loading. In a framework: the step. In a call that hands a tensor
to Python: a read, which waits for the device. In none of these: the user's own code around it.
"""

from __future__ import annotations

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
from fitdoctor.inside.lab.apparatus.loop_data import assigned_data, flows_into, is_data
from fitdoctor.inside.lab.apparatus.stacks import LOCK_HELD_S, SWITCH_INTERVAL_S
from fitdoctor.inside.lab.apparatus.upkeep import upkeep
from fitdoctor.inside.ledger import expressions
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.ledger.enclosing_loop import instruction_begin, loops_of
from fitdoctor.inside.ledger.expressions import Expression, expression_at
from fitdoctor.inside.ledger.native_work import NativeWork

PERIOD_S = 0.004
GOLDEN = 0.6180339887
# A loop that ends meanwhile is not watched forever.
LONGEST_NS = 60_000_000_000
MOST_LINES = 8
# fitdoctor's own frames are around the calls that mark a loop's steps.
FRAMEWORKS = expressions.FRAMEWORKS | {"optree", "fitdoctor"}

Line = tuple[str, int, str]


class Work(NamedTuple):
    """What the loop was seen doing, until it is known which part of the loop that is."""

    callee: CodeType | None  # the function that the loop called; None for the loop's own line
    code: CodeType  # of the loop
    line: int  # of the loop
    in_framework: bool


class Sample(NamedTuple):
    """One look at the loop's thread, and the time since the one before."""

    ns: int
    cpu_ns: int  # of the loop's own thread
    process_cpu_ns: int  # threads of a library may work for it, or for a step still under way
    lock_held: bool
    line: Line | None  # of the user's


Share = list[Sample]  # in one part of the loop


def _summed(share: Share) -> LoopShare:
    lines: Counter[Line] = Counter()
    for one in share:
        if one.line is not None:
            lines[one.line] += 1
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
        self.reads: Share = []
        self.own: Share = []
        self._maker: Counter[Line] = Counter()
        self.maker: CodeType | None = None  # what a `for` reads, and its object, if it is a method
        self.maker_owner: Any = None
        self._unsorted: dict[Work, Share] = {}
        self._step_lines: set[tuple[CodeType, int]] = set()
        self._returned_data: set[CodeType] = set()
        self._data_lines: dict[tuple[CodeType, int], bool] = {}
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
        user = next((one for one in stack if is_user_file(one.f_code.co_filename)), None)
        line = None if user is None else _line_of(user, user.f_lineno)
        # What a `for` around the body calls for its next element, if it does so now.
        pairs = itertools.pairwise(stack)
        maker = next((callee for callee, caller in pairs if self._is_read(callee, caller)), None)
        if maker is not None:
            self._maker[_line_of(maker, maker.f_code.co_firstlineno)] += 1
            if is_user_file(maker.f_code.co_filename):
                self.maker, self.maker_owner = maker.f_code, maker.f_locals.get("self")
            return self.loading, line
        if self._is_at_for(stack[0]):
            return self.loading, line  # an iterator written in C
        return self._beside_loading(stack, user, line)

    def _beside_loading(
        self, stack: list[FrameType], user: FrameType | None, line: Line | None
    ) -> tuple[Share, Line | None]:
        depth = next((n for n, one in enumerate(stack) if one.f_code in self._fors), None)
        if depth is None:
            return self.own, line
        loop, callee = stack[depth], stack[depth - 1] if depth else None
        made = upkeep(stack[:depth])
        if made is not None and line is not None:
            return self.own, (line[0], line[1], made)
        # Only the innermost line of the user's runs now; what it calls natively has no frame.
        expression = expression_at(user) if user is not None else None
        if _reads_values(stack, user, expression):
            text = expression.text if expression is not None else ""
            self._step_lines.add((loop.f_code, loop.f_lineno))
            return self.reads, (line[0], line[1], text) if line is not None else None
        in_framework = any(_is_framework(one) for one in stack[:depth])
        if not in_framework and stack[0] is user and expression is not None:
            in_framework = expression.package in FRAMEWORKS
        if in_framework and (callee is None or not _is_users_generator(callee)):
            self._step_lines.add((loop.f_code, loop.f_lineno))
            if callee is None or not is_user_file(callee.f_code.co_filename):
                return self.step, line
        if callee is not None and not is_user_file(callee.f_code.co_filename):
            callee = None  # a library that the loop's own line calls
        self._note_data(loop)
        code = callee.f_code if callee is not None else None
        work = Work(code, loop.f_code, loop.f_lineno, in_framework)
        return self._unsorted.setdefault(work, []), line

    def _note_data(self, loop: FrameType) -> None:
        """Whether the names that a line of the loop assigns hold arrays."""
        place = (loop.f_code, loop.f_lineno)
        if not self._data_lines.get(place):
            self._data_lines[place] = assigned_data(loop)

    def _is_read(self, callee: FrameType, caller: FrameType) -> bool:
        """Whether a `for` around the body asked `callee` for its next element.

        A generator that the body itself lies in is no loader: it trains. Nor is what other `for`s
        go through inside the body, as a model's parameters.
        """
        return callee.f_code not in self._fors and self._is_at_for(caller)

    def _is_at_for(self, frame: FrameType) -> bool:
        fors = self._fors.get(frame.f_code, frozenset())
        return bool(fors) and instruction_begin(frame.f_code, frame.f_lasti) in fors

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
        self._sort()
        maker = self._maker.most_common(1)
        return LoopLines(
            loading=_summed(self.loading),
            step=_summed(self.step),
            own=_summed(self.own),
            reads=_summed(self.reads),
            iterations=iterations,
            maker=maker[0][0] if maker else None,
            native=self._work.to_record(),
        )

    def _sort(self) -> None:
        """Work of the user's makes data, or it belongs to the step, or it is neither."""
        for work, share in self._unsorted.items():
            steps = frozenset(one for where, one in self._step_lines if where is work.code)
            if self._makes_data(work, steps):
                self.loading.extend(share)
                self._maker[_place_of(work)] += len(share)
            else:
                (self.step if work.in_framework else self.own).extend(share)
        self._unsorted = {}

    def _makes_data(self, work: Work, steps: frozenset[int]) -> bool:
        if work.line in steps and work.callee is None:
            return False
        if work.callee is not None and work.callee not in self._returned_data:
            return False
        if work.callee is None and not self._data_lines.get((work.code, work.line)):
            return False
        return flows_into(work.code, work.line, steps)


def _place_of(work: Work) -> Line:
    code = work.callee
    if code is None:
        return work.code.co_filename, work.line, work.code.co_name
    return code.co_filename, code.co_firstlineno, code.co_name


def _reads_values(
    stack: list[FrameType], user: FrameType | None, expression: Expression | None
) -> bool:
    """Whether the user's line reads a tensor, and nothing of the user's runs above it."""
    if user is None or expression is None or not expression.reads:
        return False
    above = itertools.takewhile(lambda one: one is not user, stack)
    return all(_is_framework(one) or not is_user_file(one.f_code.co_filename) for one in above)


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
    spans = (one for one in loops_of(code) if one.is_for and one.begin <= offset <= one.end)
    return frozenset(one.begin for one in spans)


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
