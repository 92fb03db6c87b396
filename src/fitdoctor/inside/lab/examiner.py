"""Decides when a workload has been seen enough, examines it, and ends the script."""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fitdoctor.inside.lab.experiment import run_probe
from fitdoctor.inside.lab.fit_probes import FitExamination
from fitdoctor.inside.lab.loop_probes import LoopExamination
from fitdoctor.inside.lab.probes.alternatives import call_alternatives
from fitdoctor.inside.ledger import own_cost
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.workload import Workload
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.backends.jax import JaxBackend
from fitdoctor.inside.seams.backends.tensorflow import TensorFlowBackend
from fitdoctor.inside.seams.backends.torch import TorchBackend
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads

if TYPE_CHECKING:
    from fitdoctor.inside.seams.watch.tensorflow_traces import TraceWatch

S = 1_000_000_000
# A window is full when it is long enough to judge: many steps soon, few steps later.
ENOUGH = ((8 * S, 150), (15 * S, 30))
# At half the budget a window is full with whatever it has.
FULL_AT_BUDGET_SHARE = 0.5
# A first step that compiles for long leaves no steps to judge by then: wait for some.
FEW_STEPS = 12
FULL_WITH_FEW_STEPS = 0.8
# A call is worth examining at its end when it, or its line so far, took this long.
WORTH_CALL_NS = 1 * S
WORTH_LINE_NS = 2 * S
WORTH_SWEEP_NS = S // 10
# Repeated short calls are judged after this much time in them.
GROUP_NS = 2 * S
GROUP_CALLS = 8
GROUP_STEPS_PER_CALL = 4
# Repeated calls are recorded this long before the script is ended.
GROUP_WINDOW_NS = 15 * S
HEAVY_SHARE = 0.1
SAY_EVERY_NS = 10 * S


def _is_enough(workload: Workload) -> bool:
    """Only steps that no other process disturbed count towards a full window."""
    return any(workload.clean_ns >= ns and workload.clean_steps >= n for ns, n in ENOUGH)


class ExaminationOver(SystemExit):
    """Ends the script after the examination: it unwinds, cleans up and exits with 0."""


class Examiner:
    """The recorder's listener; all its decisions are made between steps."""

    def __init__(
        self,
        recorder: Recorder,
        *,
        budget_s: float,
        go_on: bool,
        probes: bool,
        traces: TraceWatch,
        hdf5: Hdf5Reads,
        sweep: bool = False,
    ) -> None:
        """`go_on` lets the script continue; `sweep` tries batch sizes instead of all probes."""
        self._sweep = sweep
        self._recorder = recorder
        self._budget = int(budget_s * S)
        self._go_on = go_on
        recorder.ends_script = not go_on
        self._probes = probes
        self.examines = probes
        self._traces = traces
        self._hdf5 = hdf5
        self._backend_object: Backend | None = None
        self._loop_examinations: dict[int, LoopExamination] = {}
        self._loops: list[Loop] = []
        self._is_over = False
        self._examining_ns = 0
        self._next_word = 0
        self._measured_own_cost = False
        # Called instead of ending the script, where the process is not ours to end.
        self.on_enough: Callable[[], None] | None = None

    # -- what the recorder calls ---------------------------------------------------

    def on_boundary(self, call: Call, arguments: tuple[Any, ...], result: Any) -> None:
        """A step of a fit has ended; examine when its window is full."""
        self._announce()
        if call.kind != "fit" or len(self._recorder.calls) != 1:
            return
        workload = call.workload
        if not workload.probed and self._window_is_full(call):
            workload.probed = True
            with self._examining():
                self._examine_fit(call, arguments, result, mid_fit=True)
            self._end_or_go_on()
        elif self._over_budget():
            self._end_or_go_on()

    def on_call_end(self, call: Call) -> None:
        """A call has ended; examine short fits, and groups of repeated calls."""
        self._announce()
        workload = call.workload
        if self._recorder.calls:
            return  # inside another call: part of its callbacks
        if not workload.probed and self._is_worth(call):
            workload.probed = True
            with self._examining():
                if self._is_group(workload):
                    self._examine_group(call)
                elif call.kind == "fit" and call.steps:
                    self._examine_fit(call, (), None, mid_fit=False)
        if self._over_budget() or self._group_window_is_full(workload):
            self._end_or_go_on()

    def on_loop_boundary(self, loop: Loop) -> None:
        """An iteration of a hand-written loop has ended."""
        self._announce()
        self._remember(loop)
        examination = self._loop_examinations.get(loop.workload.number)
        if examination is not None:
            if examination.advance():
                loop.bodies = None
                self._end_or_go_on()
            return
        if loop.workload.probed or not self._loop_window_is_full(loop):
            return
        loop.workload.probed = True
        if not self._probes:
            self._end_or_go_on()
            return
        self._say(loop.workload)
        loop.workload.flush_steps()
        self._record_loop(loop)
        examination = LoopExamination(self._recorder, self._backend(), loop, go_on=self._go_on)
        examination.start()
        if not self._go_on:
            self._loop_examinations[loop.workload.number] = examination

    def on_exit(self) -> None:
        """The script has ended; loops that ended too soon are examined as far as they can be."""
        # A script that failed or was interrupted wants to end, not to be examined.
        failed = getattr(sys, "last_type", None) is not None
        if self._is_over or failed or not self._probes:
            return
        for loop in self._loops:
            workload = loop.workload
            if not workload.probed and workload.total_ns >= WORTH_CALL_NS:
                workload.probed = True
                self._say(workload)
                self._record_loop(loop)
                LoopExamination(self._recorder, self._backend(), loop, go_on=True).examine_ended()

    def _remember(self, loop: Loop) -> None:
        if loop in self._loops:
            return
        if not self._loops:
            # Registered now, so that it runs before what the backend does at exit.
            atexit.register(self.on_exit)
        self._loops.append(loop)

    # -- when ----------------------------------------------------------------------

    def _elapsed(self) -> int:
        """Nanoseconds of the script's own since its first step: examining is no training."""
        first = self._recorder.first_step_ns
        return 0 if first is None else self._recorder.clock() - first - self._examining_ns

    def _over_budget(self) -> bool:
        share = FULL_AT_BUDGET_SHARE if self._all_heavy_are_examined() else 1.0
        return self._elapsed() >= share * self._budget

    def _all_heavy_are_examined(self) -> bool:
        workloads = self._recorder.workloads.values()
        total = sum(one.total_ns for one in workloads)
        return all(one.probed or one.total_ns < HEAVY_SHARE * total for one in workloads)

    def _window_is_full(self, call: Call) -> bool:
        if call.first_step is None:
            return False
        workload = call.workload
        share = FULL_AT_BUDGET_SHARE if call.steps >= FEW_STEPS else FULL_WITH_FEW_STEPS
        if self._elapsed() >= share * self._budget:
            return True
        # Validation and epoch callbacks are part of the cost: see one round of them.
        if call.epochs < 2 and call.arguments.get("validation_data") is not None:
            return False
        return _is_enough(workload)

    def _loop_window_is_full(self, loop: Loop) -> bool:
        first = loop.workload.first_ns
        if first is None:
            return False
        elapsed = self._recorder.clock() - first
        if elapsed >= FULL_AT_BUDGET_SHARE * self._budget and loop.iterations >= 3:
            return True
        return _is_enough(loop.workload)

    def _is_worth(self, call: Call) -> bool:
        workload = call.workload
        took = self._recorder.clock() - call.begin
        if self._sweep:
            # The sweep brings steps of its own: a fit that is over in a moment will do.
            return call.kind == "fit" and took >= WORTH_SWEEP_NS
        if workload.total_ns >= WORTH_LINE_NS:
            return workload.calls >= GROUP_CALLS or call.kind == "fit"
        return call.kind == "fit" and took >= WORTH_CALL_NS

    def _is_group(self, workload: Workload) -> bool:
        """Many calls of a few steps each from one line."""
        return (
            workload.calls >= GROUP_CALLS
            and workload.steps <= GROUP_STEPS_PER_CALL * workload.calls
        )

    def _group_window_is_full(self, workload: Workload) -> bool:
        if workload.first_ns is None or not workload.probed or workload.calls < GROUP_CALLS:
            return False
        now = self._recorder.clock()
        return now - workload.first_ns >= GROUP_WINDOW_NS and self._all_heavy_are_examined()

    # -- what ----------------------------------------------------------------------

    @contextlib.contextmanager
    def _examining(self) -> Iterator[None]:
        begin = self._recorder.clock()
        try:
            yield
        finally:
            self._examining_ns += self._recorder.clock() - begin

    def _examine_fit(
        self, call: Call, arguments: tuple[Any, ...], result: Any, *, mid_fit: bool
    ) -> None:
        if not self._probes:
            return
        self._say(call.workload)
        backend = self._backend()
        if self._go_on and mid_fit and (reason := backend.why_not_restorable()) is not None:
            self._refuse(call.workload, reason)
            return
        examination = FitExamination(
            self._recorder,
            backend,
            call,
            arguments=arguments,
            result=result,
            may_consume=mid_fit and not self._go_on,
            period_ns=call.period_ns(self._recorder.clock()),
            hdf5=self._hdf5,
        )
        examination.run(sweep=self._sweep)

    def _examine_group(self, call: Call) -> None:
        if not self._probes:
            return
        self._say(call.workload)
        backend = self._backend()

        def experiment() -> dict[str, Any]:
            with self._recorder.suspend():
                restore = backend.snapshot(call.model)
                try:
                    return call_alternatives(backend, call)
                finally:
                    restore()

        run_probe(self._recorder, call.workload.number, "alternatives", experiment)

    def _record_loop(self, loop: Loop) -> None:
        data = {
            "iterations": loop.iterations,
            "eager_updates": loop.eager_updates,
            "calls_function": loop.last_function_call is not None,
            "marker": loop.marker,
        }
        run_probe(self._recorder, loop.workload.number, "loop", lambda: data)

    def _refuse(self, workload: Workload, reason: str) -> None:
        def refuse() -> dict[str, Any]:
            raise NotAvailable(f"{reason}, and --continue was given")

        run_probe(self._recorder, workload.number, "frozen_batch", refuse)
        self._recorder.note("warning", f"no probes were run: {reason}", workload.number)

    def _backend(self) -> Backend:
        if self._backend_object is None:
            makers: dict[str, Callable[[], Backend]] = {
                "tensorflow": TensorFlowBackend,
                "jax": JaxBackend,
                "torch": TorchBackend,
            }
            # A script that only reads data may never import Keras.
            known = [name for name in makers if name in sys.modules]
            name = self._recorder.backend
            self._backend_object = makers[name if name in makers else known[0]]()
        if isinstance(self._backend_object, TensorFlowBackend):
            self._backend_object.stateful_random_step = self._traces.stateful_random_step
        return self._backend_object

    # -- words and the end ---------------------------------------------------------

    def _announce(self) -> None:
        """Say where the recording stands: at its first step, and every few seconds."""
        if self._recorder.first_step_ns is None or self._elapsed() < self._next_word:
            return
        most = int(FULL_AT_BUDGET_SHARE * self._budget / S)
        seconds = self._elapsed() // S
        if not self._next_word:
            text = f"recording training for up to {most} s, then a few probes"
        else:
            text = f"recording {seconds} of at most {most} s"
        self._next_word = self._elapsed() + SAY_EVERY_NS
        if seconds < most and not self._measured_own_cost:
            self._recorder.progress("recording", text)

    def _say(self, workload: Workload) -> None:
        if not self._measured_own_cost:
            self._measured_own_cost = True
            cost = own_cost.nanoseconds_per_step()
            self._recorder.writer.write({"k": "overhead", "ns_per_step": cost})
        place = workload.place
        where = f" at line {place.line}" if place else ""
        seconds = self._elapsed() / S
        self._recorder.progress(
            "probing",
            f"recorded {seconds:.0f} s; probing the {workload.kind}{where} "
            "(frozen batch, loader alone, settings)",
        )

    def _end_or_go_on(self) -> None:
        if self.on_enough is not None:
            self.on_enough()
        if self._go_on:
            return
        self._is_over = True
        self._recorder.flush()
        self._recorder.writer.write({"k": "examined", "t": self._recorder.clock()})
        self._recorder.progress("done", "examined enough; ending the script here")
        raise ExaminationOver(0)
