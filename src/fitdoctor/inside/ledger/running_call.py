"""One running call of fit, evaluate, predict or *_on_batch, and its time ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.contract.records import EventDetail
from fitdoctor.inside.ledger.iterator_changes import iterator_came
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.workload import FLUSH_STEPS, CallValues, Workload
from fitdoctor.inside.seams.inputs.generators import TimedSource

STEP_FUNCTIONS = {
    "fit": "train_function",
    "evaluate": "test_function",
    "predict": "predict_function",
}
PURPOSES = {"fit": "train", "evaluate": "test"}
SHORT_CALL_STEPS = 4
StepRow = tuple[int, int, int | None, int]
PAUSE_NS = 50_000_000  # an answer of the listener longer than this was an examination


class Call:
    """The ledger of one call; every time is in nanoseconds of the recorder's clock."""

    def __init__(
        self,
        recorder: Recorder,
        workload: Workload,
        kind: str,
        model: Any,
        arguments: dict[str, Any],
        parent: Call | None,
        begin: int | None = None,
    ) -> None:
        """Open the ledger at the moment of the call, before what the recorder does for it."""
        self.recorder = recorder
        self.workload = workload
        self.kind = kind
        self.model = model
        self.arguments = arguments
        self.parent = parent
        self.number = workload.calls
        self.is_validation = kind == "evaluate" and bool(arguments.get("_use_cached_eval_dataset"))
        self.begin = recorder.clock() if begin is None else begin
        recorder.alive_ns = self.begin
        self.first_step: int | None = None
        self._first_step_end: int | None = None
        self.waited_for_iterators = 0
        self.steps = 0
        self.epochs = 0
        self.executions = 1  # steps per row of the ledger (steps_per_execution)
        self.validation = 0
        self.epoch_callbacks = 0
        self.batch_callbacks = 0
        self.step_total = 0
        self.paused = 0  # spent in examinations, which are not the user's training
        self.wait_total: int | None = None
        # Accumulated since the last step; the patches add to them.
        self.wait = 0
        self.callbacks = 0
        self.python_wait = False  # a Python iterator is in the loop, so wait is exact
        self.wait_is_inside_step = False
        self.epoch_iterator: Any = None
        self.iterator_asked: int | None = None  # for the next epoch; until its first step
        self.first_iterator_ns: int | None = None
        self.last_batch: Any = None
        self.source: TimedSource | None = None  # a generator's own time, measured in place
        self.step_function: Callable[..., Any] | None = None
        self._wrapped: Callable[..., Any] | None = None
        self._early: list[StepRow] = []
        self._stopped: int | None = None
        self._due = recorder.due_after(self.begin)
        if not self.is_validation:
            workload.calls += 1

    # -- steps ---------------------------------------------------------------------

    def watch_steps(self) -> None:
        """Time the model's compiled step for as long as this call runs."""
        name = STEP_FUNCTIONS.get(self.kind)
        function = getattr(self.model, name, None) if name else None
        if function is None or name is None:
            return
        self.step_function = function
        self.executions = int(getattr(self.model, "steps_per_execution", 1) or 1)
        self._wrapped = _timed_step(self, function)
        setattr(self.model, name, self._wrapped)
        if self.kind == "fit":
            self.workload.open_block(self.number, 0, self.executions)

    def unwatch_steps(self) -> None:
        """Give the model its own step function back."""
        name = STEP_FUNCTIONS.get(self.kind)
        if name and self._wrapped is not None and getattr(self.model, name) is self._wrapped:
            setattr(self.model, name, self.step_function)
        self._wrapped = None

    def _step_done(self, begin: int, end: int) -> None:
        if self.iterator_asked is not None:
            iterator_came(self, begin - self.iterator_asked, begin)
            self.iterator_asked = None
        if self.first_step is None:
            self.first_step, self._first_step_end = begin, end
            if self.kind == "fit" and self.recorder.first_step_ns is None:
                # Tracing and compiling may take half a minute: the budget is for what comes after.
                self.recorder.first_step_ns = end
        self.recorder.alive_ns = end
        wait, self.wait = self.wait, 0
        callbacks, self.callbacks = self.callbacks, 0
        # Keras may have asked for the first batch before: then its wait lies outside the step.
        duration = max(0, end - begin - (wait if self.wait_is_inside_step else 0))
        self.steps += self.executions
        self.step_total += duration
        self.batch_callbacks += callbacks
        if self.python_wait:
            self.wait_total = (self.wait_total or 0) + wait
        if not self.is_validation:
            self._add_row((begin, duration, wait if self.python_wait else None, callbacks))

    def _add_row(self, row: StepRow) -> None:
        """Rows of short predict and evaluate calls are not kept: the call is what counts."""
        if self.kind == "fit":
            self.workload.add_step(*row)
        elif len(self._early) < SHORT_CALL_STEPS:
            self._early.append(row)
        else:
            if self.steps == (SHORT_CALL_STEPS + 1) * self.executions:
                self.workload.open_block(self.number, 0, self.executions)
                for early in self._early:
                    self.workload.add_step(*early)
            self.workload.add_step(*row)

    def _pause(self, arguments: tuple[Any, ...], result: Any, now: int) -> None:
        self.flush()
        self._due = self.recorder.due_after(now)
        listener = self.recorder.listener
        if listener is not None and not self.recorder.suspended:
            asked = self.recorder.clock()
            try:
                listener.on_boundary(self, arguments, result)
            except BaseException:
                # The script is ended here; unwinding is not training either.
                self._stopped = asked
                raise
            self._resume(asked)

    def _resume(self, asked: int) -> None:
        answered = self.recorder.clock()
        if answered - asked > PAUSE_NS:
            self.paused += answered - asked
            self.workload.mark_pause()
            self.recorder.others_cores()  # forget what happened meanwhile
        self._due = self.recorder.due_after(answered)

    # -- epochs and the end --------------------------------------------------------

    def begin_epoch(self) -> None:
        """A new epoch starts; its steps get a block of their own."""
        self.flush()
        self.epochs += 1
        self.workload.open_block(self.number, self.epochs - 1, self.executions)

    def flush(self) -> None:
        """Write what the ledger has so far."""
        self._flush_steps()
        if self.kind == "fit" and self.steps:
            self.workload.write_open_call(self.values(self.recorder.clock()))
            self.workload.flush_callbacks()

    def _flush_steps(self) -> None:
        if not self.is_validation and self.workload.pending_steps:
            wait = None
            if self.kind in PURPOSES:
                wait = self.recorder.read_graph_wait(PURPOSES[self.kind])
                if wait is not None:
                    self.wait_total = (self.wait_total or 0) + wait
            self.workload.flush_steps(wait, self.recorder.others_cores())

    def period_ns(self, now: int) -> float | None:
        """From one step to the next so far, without what the first one compiled and validation.

        Nor TensorFlow's chance waits between epochs, which are no part of training.
        """
        steps = self.steps - self.executions
        if self._first_step_end is None or steps <= 0:
            return None
        apart = self.validation + self.paused + self.waited_for_iterators
        return max(0.0, (now - self._first_step_end - apart) / steps)

    def values(self, end: int) -> CallValues:
        """This call as one row of the recording.

        Plain values in the order of `CallRow`, since a train_on_batch is a call and a step in one.
        """
        return (
            self.begin,
            end - self.begin - self.paused,
            self.steps,
            None if self.first_step is None else self.first_step - self.begin,
            self.validation,
            self.epoch_callbacks,
            self.batch_callbacks,
            self.step_total,
            self.wait_total,
            self.epochs,
        )

    def forget(self) -> None:
        """Let go of everything that is Keras's, when nobody will ask any more.

        Calls and iterators refer to each other. Until Python collects such a circle, JAX would
        find the old step's compiled code again where without us it compiles from scratch.
        """
        self.step_function = self.epoch_iterator = self.last_batch = self.source = None

    def release(self) -> None:
        """Let go of what the call made, so that its destruction is timed as part of it.

        Only a fit that may still be examined keeps its data. Keras drops the next epoch's
        iterator before the one it used; holding it longer would turn that order round, and
        TensorFlow then waits for its autotuning thread (0.3 to 0.5 s, measured).
        """
        is_short = self.steps <= SHORT_CALL_STEPS
        # Without probes nobody will ask for the data.
        examines = getattr(self.recorder.listener, "examines", True)
        is_examined = self.workload.probed or self.recorder.listener is None or not examines
        if self.kind != "fit" or is_short or is_examined:
            self.epoch_iterator = self.last_batch = None

    def close(self) -> None:
        """The call has ended, in whatever way.

        What the recorder does for it counts as part of it, so that the time between two
        calls is the user's own.
        """
        self.unwatch_steps()
        self.release()
        # Inside another call the next step of that one counts.
        self.recorder.alive_ns = None if self.parent is None else self.recorder.clock()
        self._flush_steps()
        end = self.recorder.clock() if self._stopped is None else self._stopped
        duration = end - self.begin - self.paused
        if self.parent is not None:
            self.parent.paused += self.paused
            if self.is_validation:
                self.parent.validation += duration
                detail = EventDetail(steps=self.steps)
                self.recorder.event("validation", self.begin, duration, detail)
                return
        self.workload.total_ns += duration
        self.workload.steps += self.steps or 1
        if self.workload.first_ns is None:
            self.workload.first_ns = self.begin
        self.workload.add_call(self.values(end))


def _timed_step(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    clock = call.recorder.clock

    def timed_step(*arguments: Any) -> Any:
        begin = clock()
        result = function(*arguments)
        end = clock()
        call._step_done(begin, end)
        if end >= call._due or call.workload.pending_steps >= FLUSH_STEPS:
            call._pause(arguments, result, end)
        return result

    return timed_step
