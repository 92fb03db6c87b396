"""Decides when a workload is examined, and ends the script when all have been."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.codec import encode
from fitdoctor.contract.evidence.memory import MemoryWhileTraining
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.groups import is_group
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.budget import WORTH_CALL_NS, Budget
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.group_watch import GroupWatch, watch_group
from fitdoctor.inside.lab.loop_examination import LoopExamination
from fitdoctor.inside.lab.memory_watch import MemoryWatch
from fitdoctor.inside.lab.probe import Subject
from fitdoctor.inside.lab.progress_words import ROUND, probing, recording
from fitdoctor.inside.lab.recording import refuse, run_and_record
from fitdoctor.inside.lab.scheduler import Scheduler
from fitdoctor.inside.ledger import own_cost
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.unseen_lines import unseen_lines
from fitdoctor.inside.ledger.workload import Workload
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.choose import backend_named
from fitdoctor.inside.seams.backends.tensorflow import TensorFlowBackend
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads

if TYPE_CHECKING:
    from fitdoctor.inside.seams.watch.tensorflow_traces import TraceWatch

ANNOUNCE_EVERY_NS = 10 * NS_PER_S


class ExaminationOver(SystemExit):
    """Ends the script after the examination: it unwinds, cleans up and exits with 0."""


class Examiner:
    """The recorder's listener; all its decisions are made between steps."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        budget_s: float,
        keep_running: bool,
        probes: bool,
        traces: TraceWatch,
        hdf5: Hdf5Reads,
        sweep: bool = False,
    ) -> None:
        """`sweep` tries batch sizes on this device instead of all probes."""
        self._recorder = recorder
        self._budget = Budget(recorder, budget_s)
        self._memory = MemoryWatch()
        self._sweep = sweep
        self._keep_running = keep_running
        recorder.ends_script = not keep_running
        self.examines = probes
        self._traces = traces
        self._hdf5 = hdf5
        self._scheduler = Scheduler()
        self._backend_object: Backend | None = None
        self._loop_examinations: dict[int, LoopExamination] = {}
        self._loops: list[Loop] = []
        self._group_watches: dict[int, GroupWatch] = {}
        self._is_over = False
        self._waits_for_a_round = False
        self._next_announcement = 0
        self._measured_own_cost = False
        # Called instead of ending the script, where the process is not ours to end.
        self.on_enough: Callable[[], None] | None = None

    # -- what the recorder calls ---------------------------------------------------

    def on_boundary(self, call: Call, arguments: tuple[Any, ...], result: Any) -> None:
        """A step of a fit has ended; examine when its window is full."""
        self._announce()
        if call.kind != "fit" or len(self._recorder.calls) != 1:
            return
        before = call.workload
        self._look_at_memory(before, before.steps + call.steps, before.calls + call.epochs)
        if not call.workload.probed and self._budget.fit_is_full(call):
            call.workload.probed = True
            with self._budget.examining():
                self._examine_fit(call, arguments, result, mid_fit=True)
            self._end_after_a_round(call.workload, is_seen=call.number > 0)
        elif self._budget.is_spent():
            self._end_after_a_round(call.workload, is_seen=call.number > 0)

    def on_call_end(self, call: Call) -> None:
        """A call has ended; examine short fits, and groups of repeated calls."""
        self._announce()
        workload = call.workload
        if self._recorder.calls:
            return  # inside another call: part of its callbacks
        self._advance_watch(workload.number)
        self._look_at_memory(workload, workload.steps, workload.calls + call.epochs)
        is_worth = self._budget.is_worth_sweep if self._sweep else self._budget.is_worth
        if not workload.probed and is_worth(call):
            workload.probed = True
            if is_group(workload.kind, workload.calls, workload.steps):
                self._examine_group(call)
            elif call.kind == "fit" and call.steps:
                with self._budget.examining():
                    self._examine_fit(call, (), None, mid_fit=False)
        if self._group_watches and not self._budget.is_over():
            return
        if self._budget.is_spent() or self._budget.group_is_full(workload):
            self._end_after_a_round(workload, is_seen=workload.calls > 1)

    def on_loop_boundary(self, loop: Loop) -> None:
        """An iteration of a hand-written loop has ended."""
        self._announce()
        self._remember(loop)
        self._look_at_memory(loop.workload, loop.workload.steps, loop.passes)
        examination = self._loop_examinations.get(loop.workload.number)
        if examination is not None:
            if examination.advance():
                del self._loop_examinations[loop.workload.number]
                loop.bodies = None
                loop.workload.mark_pause()
                self._end_after_a_round(loop.workload, is_seen=_seen_a_round(loop))
            return
        if loop.workload.probed and self._budget.is_spent():
            self._end_after_a_round(loop.workload, is_seen=_seen_a_round(loop))
        if loop.workload.probed or not self._budget.loop_is_full(loop):
            return
        loop.workload.probed = True
        if not self.examines:
            return self._end_unless_kept()
        self._announce_probes(loop.workload)
        loop.workload.flush_steps()
        examination = self._loop_examinations[loop.workload.number] = self._loop_examination(loop)
        examination.advance()

    def _loop_examination(self, loop: Loop) -> LoopExamination:
        memory, keeps = self._memory_of(loop.workload), self._keep_running
        given = (self._recorder, self._backend(), loop, self._hdf5, memory)
        return LoopExamination(*given, keep_running=keeps)

    def _look_at_memory(self, workload: Workload, steps: int, epoch: int) -> None:
        """Until it is examined: probes use memory too."""
        if self.examines and not workload.probed:
            self._memory.look(workload.number, self._recorder.backend, steps, epoch)

    def _memory_of(self, workload: Workload) -> MemoryWhileTraining | None:
        return self._memory.found(workload.number, self._recorder.backend)

    def on_exit(self) -> None:
        """The script has ended; loops that ended too soon are examined as far as possible."""
        # A script that failed or was interrupted wants to end, not to be examined.
        failed = getattr(sys, "last_type", None) is not None
        if self._is_over or failed or not self.examines:
            return
        for watch in self._group_watches.values():
            watch.give_up()
        for loop in self._loops:
            workload = loop.workload
            examination = self._loop_examinations.get(workload.number)
            if not workload.probed and workload.total_ns >= WORTH_CALL_NS:
                workload.probed = True
                self._announce_probes(workload)
                examination = self._loop_examination(loop)
            if examination is not None:
                examination.examine_ended()

    def _remember(self, loop: Loop) -> None:
        if not self._loops:
            # Registered now, so that it runs before what the backend does at exit.
            atexit.register(self.on_exit)
        if loop not in self._loops:
            self._loops.append(loop)

    # -- what is examined ----------------------------------------------------------

    def _examine_fit(
        self, call: Call, arguments: tuple[Any, ...], result: Any, *, mid_fit: bool
    ) -> None:
        if not self.examines:
            return
        context = self._context(
            call,
            Subject.SWEEP if self._sweep else Subject.FIT,
            arguments=arguments,
            result=result,
            may_consume=mid_fit and not self._keep_running,
            period_ns=call.period_ns(self._recorder.clock()),
            hdf5=self._hdf5,
            keep_running=self._keep_running,
        )
        reason = context.backend.why_not_restorable() if self._keep_running and mid_fit else None
        if reason is None:
            self._scheduler.examine(context)
            return
        message = f"{reason}, and --continue was given"
        run_and_record(context, recorded_name(FrozenBatch), lambda: refuse(message))
        self._recorder.note("warning", f"no probes were run: {reason}", call.workload.number)

    def _examine_group(self, call: Call) -> None:
        if not self.examines:
            return
        took = self._recorder.clock() - (call.workload.first_ns or call.begin)
        context = self._context(
            call,
            Subject.GROUP,
            hdf5=self._hdf5,
            period_ns=took / max(1, call.workload.calls),
        )
        with self._budget.examining():
            self._scheduler.examine(context)
        watch = watch_group(context)
        if watch is not None:
            self._group_watches[call.workload.number] = watch

    def _advance_watch(self, number: int) -> None:
        if number in self._group_watches and self._group_watches[number].called():
            del self._group_watches[number]

    def _context(self, call: Call, subject: Subject, **more: Any) -> Context:
        self._announce_probes(call.workload)
        return Context(
            recorder=self._recorder,
            backend=self._backend(),
            subject=subject,
            workload=call.workload,
            call=call,
            memory=self._memory_of(call.workload),
            **more,
        )

    def _backend(self) -> Backend:
        if self._backend_object is None:
            self._backend_object = backend_named(self._recorder.backend)
        if isinstance(self._backend_object, TensorFlowBackend):
            self._backend_object.stateful_random_step = self._traces.stateful_random_step
        return self._backend_object

    # -- words and the end ---------------------------------------------------------

    def _announce(self) -> None:
        """Say how far the recording is: at its first step, and every few seconds."""
        elapsed = self._budget.elapsed_ns()
        if self._recorder.first_step_ns is None or elapsed < self._next_announcement:
            return
        most, seconds = self._budget.recording_ns // NS_PER_S, elapsed // NS_PER_S
        text = recording(seconds, most, is_first=not self._next_announcement)
        self._next_announcement = elapsed + ANNOUNCE_EVERY_NS
        if seconds < most and not self._measured_own_cost:
            self._recorder.progress("recording", text)

    def _announce_probes(self, workload: Workload) -> None:
        if not self._measured_own_cost:
            self._measured_own_cost = True
            cost = own_cost.nanoseconds_per_step()
            self._recorder.writer.write({"k": "overhead", "ns_per_step": cost})
        seconds = self._budget.elapsed_ns() / NS_PER_S
        self._recorder.progress("probing", probing(workload.kind, workload.place, seconds))

    def _end_after_a_round(self, workload: Workload, *, is_seen: bool) -> None:
        """End, but not before what the loop around this line does in a round was seen once."""
        if self._keep_running or is_seen or not workload.is_in_loop or self._budget.is_over():
            self._end_unless_kept()
        elif not self._waits_for_a_round:
            self._waits_for_a_round = True
            self._recorder.progress("round", ROUND)

    def _end_unless_kept(self) -> None:
        """All there is to see was seen."""
        if self.on_enough is not None:
            self.on_enough()
        if self._keep_running:
            return
        for watch in self._group_watches.values():
            watch.give_up()
        self._is_over = True
        self._recorder.flush()
        self._recorder.writer.write(
            {"k": "examined", "t": self._recorder.clock(), **encode(unseen_lines())}
        )
        self._recorder.progress("done", "examined enough; ending the script here")
        raise ExaminationOver(0)


def _seen_a_round(loop: Loop) -> bool:
    """Whether a loop was begun a second time; of one without a loader that is not known."""
    return loop.loader is None or loop.passes > 1
