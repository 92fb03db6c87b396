"""Ends a script after a number of training steps, with the clock read when they are done.

What two runs are compared by: the same steps of both, no probes, nothing else.
"""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.options import StepLimit
from fitdoctor.inside.lab.examiner import ExaminationOver
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call


class StepCount:
    """Steps of everything that trains, a step inside another one counted once."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._closed = 0
        self._loops: dict[int, Loop] = {}

    def during(self, call: Call, batches: int = 0) -> int:
        """Steps done so far, within a call that still runs.

        Args:
            call: the call.
            batches: what it took, where that was counted: with `steps_per_execution` the
                last execution of an epoch may do fewer steps than the ledger says.
        """
        return self.total + (0 if self._is_inner(call) else batches or call.steps)

    def closed(self, call: Call, batches: int = 0) -> None:
        """A call has ended; one without steps of its own (train_on_batch) is one step."""
        if not self._is_inner(call):
            self._closed += batches or call.steps or 1

    def iterated(self, loop: Loop) -> None:
        """A hand-written loop has done iterations."""
        if loop not in self._recorder.loops[:-1]:
            self._loops[id(loop)] = loop

    @property
    def total(self) -> int:
        """Steps that are done."""
        return self._closed + sum(loop.iterations for loop in self._loops.values())

    @property
    def learned(self) -> int:
        """Steps that are done, with those that no ledger has."""
        return self.total + sum(loop.missed for loop in self._loops.values())

    def _is_inner(self, call: Call) -> bool:
        # The step of a hand-written loop; as in the diagnosis.
        return bool(self._recorder.loops) and call.kind.endswith("_on_batch")


class LimitWatch:
    """The recorder's listener while two scripts are timed against each other."""

    examines = False

    def __init__(self, recorder: Recorder, limit: StepLimit) -> None:
        self._recorder = recorder
        self._steps = limit.steps
        self._limit_ns = int(limit.seconds * NS_PER_S)
        self._begin: int | None = None
        self._count = StepCount(recorder)

    def on_boundary(self, call: Call, arguments: tuple[Any, ...], result: Any) -> None:
        """A step has ended, about twice a second: wait for the device, and read the clock."""
        if len(self._recorder.calls) != 1:
            return
        begin = self._recorder.clock()
        wait_for_step(self._recorder.backend, result)
        self._recorder.event("sync", begin, self._recorder.clock() - begin)
        self._end_if_done(self._count.during(call))

    def on_call_end(self, call: Call) -> None:
        if not self._recorder.calls:
            self._count.closed(call)
            self._end_if_done(self._count.total)

    def on_loop_boundary(self, loop: Loop) -> None:
        self._count.iterated(loop)
        self._end_if_done(self._count.total)

    def _end_if_done(self, steps: int) -> None:
        now = self._recorder.clock()
        if self._begin is None:
            # Counted from after the first step, which compiles.
            self._begin = now
        enough = self._steps is not None and steps >= self._steps
        if enough or now - self._begin >= self._limit_ns:
            end_script(self._recorder)


def end_script(recorder: Recorder) -> None:
    """Write everything, say that it was us, and unwind the script."""
    recorder.flush()
    recorder.writer.write({"k": "examined", "t": recorder.clock()})
    raise ExaminationOver(0)


def wait_for_step(backend: str, result: Any) -> None:
    """Wait until what a step returned has really been computed."""
    if backend == "jax":
        sys.modules["jax"].block_until_ready(result)
    elif backend == "torch":
        torch = sys.modules["torch"]
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    else:
        first = next(iter(result.values())) if isinstance(result, dict) and result else result
        if hasattr(first, "numpy"):
            first.numpy()
