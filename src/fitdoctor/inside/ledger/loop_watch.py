"""Hand-written training loops: what marks their steps.

A loop is one `for` or `while` of the user's source. Where it reads a tf.data dataset or a torch
DataLoader, `next` marks the steps: inside it lies the input wait, between two of them one body. Any
other loop is marked by the compiled functions and optimizer updates that its body calls: an
iteration ends when one of these calls comes round again.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from fitdoctor.contract.records import WorkloadDetail
from fitdoctor.inside.ledger.callsite import is_user_file, place_of, user_frame
from fitdoctor.inside.ledger.enclosing_loop import (
    LoopSpan,
    enclosing_loop,
    has_outer_loop,
    is_asking_for_next,
)
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.workload import Workload

# A call in the user's source: the function it stands in, and its instruction.
Site = tuple[CodeType, int]


class FunctionCall(NamedTuple):
    """A call of a compiled function."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Loop:
    """One hand-written loop while it runs."""

    def __init__(self, recorder: Recorder, workload: Workload, marker: str) -> None:
        self.recorder = recorder
        self.workload = workload
        self.marker = marker
        self.iterations = 0
        self.missed = 0  # iterations before it was seen that the loop trains
        self.body_begin: int | None = None
        self.last_element: Any = None
        self.loader: Any = None  # the dataset or DataLoader, if one is iterated
        self.frame_code: CodeType | None = None  # of the function that the loop stands in
        self.span: LoopSpan | None = None  # its instructions there
        # Functions of the user's that the loop calls, and that train on the way.
        self.step_codes: set[CodeType] = set()
        # While set, the loop is given this element again instead of a new one.
        self.frozen: Any = None
        self.bodies: list[int] | None = None  # durations while frozen, not part of training
        self.optimizers: dict[int, Any] = {}  # that update weights in its body
        self._functions: dict[Site, FunctionCall] = {}
        self._taken: Counter[Site] = Counter()  # nanoseconds
        self._fired: set[Site] = set()  # of the iteration that runs
        self.wait: int | None = 0
        self._function_ns: int | None = None  # of the calls that mark a step, if any do
        self._epoch = 0
        self._due = recorder.due_after(recorder.clock())
        workload.open_block(0, 0, 1)

    def has_ended(self, frame: FrameType | None) -> bool:
        """Whether the stack is not inside it any more.

        A loop that asks for its elements by `next` ends without asking once more. One in a
        generator waits there while what it gave is used.
        """
        code = self.frame_code
        if code is None or self.span is None or code.co_flags & inspect.CO_GENERATOR:
            return False
        while frame is not None:
            if frame.f_code is code:
                return not self.span.begin <= frame.f_lasti <= self.span.end
            frame = frame.f_back
        return True

    # -- the calls that mark a step -------------------------------------------------

    @property
    def optimizer(self) -> Any:
        """The only one that was seen; None where there are several."""
        return next(iter(self.optimizers.values())) if len(self.optimizers) == 1 else None

    @property
    def last_function_call(self) -> FunctionCall | None:
        """The compiled function that takes most of a step, with its last arguments."""
        if not self._functions:
            return None
        return self._functions[max(self._functions, key=lambda site: self._taken[site])]

    @property
    def function_calls(self) -> list[FunctionCall]:
        """Every compiled function that the body calls, as it was called last."""
        return list(self._functions.values())

    def calls(self, site: Site, call: FunctionCall | None) -> None:
        """A compiled function is about to be called; it may give its arguments' memory away."""
        if call is not None:
            self._functions[site] = call

    def remember(self, site: Site, taken: int) -> None:
        """A compiled function was called, or the weights were updated."""
        self._taken[site] += taken

    def comes_round(self, site: Site) -> bool:
        """Whether a call was already made in this iteration, so that a new one begins."""
        return site in self._fired

    def fired(self, site: Site, begin: int, taken: int) -> None:
        """A call that marks the iteration has ended."""
        if self.body_begin is None:
            self.body_begin = begin
        self._fired.add(site)
        self._function_ns = (self._function_ns or 0) + taken

    # -- iterations ------------------------------------------------------------------

    @property
    def passes(self) -> int:
        """How often its loader was begun."""
        return self._epoch

    def new_pass(self) -> None:
        """The loop started to iterate its loader again: the time in between is no step."""
        self._epoch += 1
        self.workload.flush_steps(others_cores=self.recorder.others_cores())
        self.workload.open_block(0, self._epoch, 1)

    def body_ended(self, now: int, wait: int | None) -> None:
        """The loop asks for its next element: one step is done."""
        if self.body_begin is None:
            return
        begin = self.body_begin
        self.recorder.alive_ns = now
        step = now - begin if self._function_ns is None else self._function_ns
        self.body_begin = self._function_ns = None
        self._fired.clear()
        if self.bodies is not None:
            self.bodies.append(now - begin)
            if self.recorder.listener is not None:
                self.recorder.listener.on_loop_boundary(self)
            return
        self.iterations += 1
        self.workload.steps += 1
        self.workload.total_ns += now - begin + (wait or 0)
        if self.workload.first_ns is None:
            self.workload.first_ns = begin
        if self.recorder.first_step_ns is None:
            self.recorder.first_step_ns = begin
        self.workload.add_step(begin, step, wait, 0)
        if now >= self._due:
            self._due = self.recorder.due_after(now)
            self.workload.flush_steps(others_cores=self.recorder.others_cores())
            if self.recorder.listener is not None:
                self.recorder.listener.on_loop_boundary(self)


class LoopWatch:
    """Finds the loop that a `next`, a compiled call or an optimizer update belongs to."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._loops: dict[tuple[CodeType, int], Loop] = {}
        self.marks = 0  # calls and elements that marked a step, of all loops

    def timed_next(self, original: Callable[[Any], Any], source: str) -> Callable[[Any], Any]:
        """Wrap an iterator class's `__next__`."""
        recorder = self._recorder

        def __next__(iterator: Any) -> Any:
            if recorder.calls or recorder.suspended:
                return original(iterator)
            frame = _reading_frame(sys._getframe(1))
            if frame is None:
                return original(iterator)
            return self._next(self._loop_at(frame, source), iterator, original)

        return __next__

    def _next(self, loop: Loop, iterator: Any, original: Callable[[Any], Any]) -> Any:
        clock = self._recorder.clock
        self.marks += 1
        # The wait of a step is the one before its body, so it is written with that body.
        loop.body_ended(clock(), loop.wait)
        self._left(loop)
        if loop.frozen is not None:
            element = loop.frozen
        else:
            if iterator is not loop.loader:
                loop.loader = iterator
                loop.new_pass()
            begin = clock()
            element = original(iterator)
            loop.wait = clock() - begin
            loop.last_element = element
        loop.body_begin = clock()
        self._recorder.loops.append(loop)
        return element

    def called(
        self,
        marker: str,
        call: Callable[[], Any],
        function: FunctionCall | None = None,
        missed: int = 0,
    ) -> Any:
        """Run a compiled call or an optimizer update, which marks a step if nothing else does."""
        frame = user_frame(sys._getframe(2))
        if frame is None:
            return call()
        clock, site = self._recorder.clock, (frame.f_code, frame.f_lasti)
        self.marks += 1
        self._leave_ended(frame)
        if self._recorder.loops:  # inside an iteration that a loader marks
            _note_step(self._recorder.loops[-1], frame)
            self._recorder.loops[-1].calls(site, function)
            begin = clock()
            try:
                return call()
            finally:
                if self._recorder.loops:
                    self._recorder.loops[-1].remember(site, clock() - begin)
        loop = self._loop_at(frame, marker)
        loop.missed += missed
        # Known before the iteration ends: these arguments are what that iteration has led to.
        loop.calls(site, function)
        if loop.comes_round(site):
            loop.body_ended(clock(), None)
            self._left(loop)
        begin = clock()
        # What happens meanwhile, as a new trace, is the loop's.
        self._recorder.loops.append(loop)
        try:
            result = call()
        finally:
            self._left(loop)
        taken = clock() - begin
        loop.remember(site, taken)
        loop.fired(site, begin, taken)
        return result

    def updates(self, optimizer: Any) -> None:
        """An optimizer updates weights, or is traced to do so."""
        if not self._recorder.loops:
            return
        loop = self._recorder.loops[-1]
        loop.optimizers[id(optimizer)] = optimizer
        if loop.bodies is not None:  # examined
            _note_step(loop, user_frame(sys._getframe(1)))

    def _loop_at(self, frame: FrameType, marker: str) -> Loop:
        around = enclosing_loop(frame)
        if around is None:
            code, key = frame.f_code, (frame.f_code, -frame.f_lineno)
        else:
            code = around.frame.f_code
            key = (code, around.span.begin)
        loop = self._loops.get(key)
        if loop is None:
            self._leave_ended(frame)
            detail = WorkloadDetail(marker=marker, backend=self._recorder.backend)
            workload = self._recorder.workload("loop", place_of(frame), lambda: detail)
            loop = self._loops[key] = Loop(self._recorder, workload, marker)
            loop.frame_code = code
            loop.span = around.span if around is not None else None
            workload.is_in_loop = around is not None and has_outer_loop(around)
        _note_step(loop, frame)
        return loop

    def is_inside(self) -> bool:
        """Whether an iteration of a loop runs now."""
        frame = user_frame(sys._getframe(1)) if self._recorder.loops else None
        if frame is not None:
            self._leave_ended(frame)
        return bool(self._recorder.loops)

    def _leave_ended(self, frame: FrameType) -> None:
        """What comes now is no part of a loop that has ended unseen."""
        loops = self._recorder.loops
        while loops and loops[-1].has_ended(frame):
            loops.pop()

    def _left(self, loop: Loop) -> None:
        if loop in self._recorder.loops:
            # Inner loops that ended by `break` are left with it.
            del self._recorder.loops[self._recorder.loops.index(loop) :]


def _reading_frame(frame: FrameType) -> FrameType | None:
    """The frame of the user's that asks for the next element, also through a progress bar."""
    if is_user_file(frame.f_code.co_filename):
        return frame
    user = user_frame(frame)
    return user if user is not None and is_asking_for_next(user) else None


def _note_step(loop: Loop, frame: FrameType | None) -> None:
    """The user's function that a loop's own function called to get here, if one is between."""
    found: CodeType | None = None
    while frame is not None and frame.f_code is not loop.frame_code:
        if is_user_file(frame.f_code.co_filename):
            found = frame.f_code
        frame = frame.f_back
    if frame is not None and found is not None:
        loop.step_codes.add(found)
