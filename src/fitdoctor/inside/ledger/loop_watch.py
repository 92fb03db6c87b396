"""Hand-written training loops: iterating a loader marks the steps.

Between two `next` calls from the same `for` line lies one body of the loop, which is the
step; inside `next` lies the input wait. Loops without a loader that we can see are
marked by the compiled function, or by the optimizer, that they call once per step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from fitdoctor.contract.records import WorkloadDetail
from fitdoctor.inside.ledger.callsite import is_user_file, place_of, user_frame
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.workload import Workload


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
        self.frame_code: CodeType | None = None
        # While set, the loop is given this element again instead of a new one.
        self.frozen: Any = None
        self.bodies: list[int] | None = None  # durations while frozen, not part of training
        self.last_function_call: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None
        self._wait: int | None = 0
        self._function_ns: int | None = None  # of the call that marks a step, if one does
        self._epoch = 0
        self._due = recorder.due_after(recorder.clock())
        workload.open_block(0, 0, 1)

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
        self.body_begin = None
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
        step = now - begin if self._function_ns is None else self._function_ns
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
        self._loops: dict[tuple[CodeType, int, str], Loop] = {}

    def timed_next(self, original: Callable[[Any], Any], source: str) -> Callable[[Any], Any]:
        """Wrap an iterator class's `__next__`."""
        recorder = self._recorder
        clock = recorder.clock

        def __next__(iterator: Any) -> Any:
            if recorder.calls or recorder.suspended:
                return original(iterator)
            frame = sys._getframe(1)
            if not is_user_file(frame.f_code.co_filename):
                return original(iterator)
            loop = self._loop_at(frame, source)
            return self._next(loop, iterator, original, clock, frame)

        return __next__

    def _next(
        self,
        loop: Loop,
        iterator: Any,
        original: Callable[[Any], Any],
        clock: Callable[[], int],
        frame: FrameType,
    ) -> Any:
        asked = clock()
        # The wait of a step is the one before its body, so it is written with that body.
        loop.body_ended(asked, loop._wait)
        self._left(loop)
        if loop.frozen is not None:
            element = loop.frozen
        else:
            if iterator is not loop.loader:
                loop.loader = iterator
                loop.new_pass()
            begin = clock()
            element = original(iterator)
            loop._wait = clock() - begin
            loop.last_element = element
        loop.body_begin = clock()
        self._recorder.loops.append(loop)
        return element

    def called(
        self,
        marker: str,
        call: Callable[[], Any],
        function: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None,
        missed: int = 0,
    ) -> Any:
        """Run a compiled call or an optimizer update, which marks a step if nothing else does."""
        frame = user_frame(sys._getframe(2))
        if frame is None:
            return call()
        if self._recorder.loops and self._recorder.loops[-1].marker != marker:
            return call()  # inside an iteration that a loader already marks
        loop = self._loop_at(frame, marker)
        loop.last_function_call = function
        loop.missed += missed
        loop.body_ended(self._recorder.clock(), None)
        self._left(loop)
        begin = self._recorder.clock()
        # What happens meanwhile, as a new trace, is the loop's.
        self._recorder.loops.append(loop)
        try:
            result = call()
        finally:
            self._left(loop)
        loop._function_ns = self._recorder.clock() - begin
        loop.body_begin = begin
        return result

    def _loop_at(self, frame: FrameType, marker: str) -> Loop:
        key = (frame.f_code, frame.f_lineno, marker)
        loop = self._loops.get(key)
        if loop is None:
            detail = WorkloadDetail(marker=marker, backend=self._recorder.backend)
            workload = self._recorder.workload("loop", place_of(frame), lambda: detail)
            loop = self._loops[key] = Loop(self._recorder, workload, marker)
            loop.frame_code = frame.f_code
        return loop

    def _left(self, loop: Loop) -> None:
        if loop in self._recorder.loops:
            # Inner loops that ended by `break` are left with it.
            del self._recorder.loops[self._recorder.loops.index(loop) :]
