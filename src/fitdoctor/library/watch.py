"""`fitdoctor.Watch()`: a callback that keeps the ledger of a fit, for those who cannot change how
the script is started.

It only has hooks at epochs and at the ends, so that Keras still dispatches batches
asynchronously. With `examine=True` the training is also examined between two steps, as by
`fitdoctor run --continue`, and goes on with the state it had.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.records import WorkloadDetail
from fitdoctor.inside import wiring
from fitdoctor.inside.ledger.callsite import user_place
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.watch.entered_fit import entered_fit
from fitdoctor.library.own_process import OwnRecording, start_recording
from fitdoctor.library.trackers import (
    MLflow,
    TensorBoard,
    Tracker,
    WeightsAndBiases,
    in_words,
    measured,
)

if TYPE_CHECKING:
    from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis

MORE = "for causes and what each cure would gain: fitdoctor run {script}"


class Ledger:
    """What the callback does, apart from Keras's base class."""

    def __init__(self, script: str, *, examine: bool) -> None:
        self.script = os.path.basename(script)
        self.examine = examine
        self.own: OwnRecording = start_recording(script, probes=examine)
        self.trackers: Sequence[Tracker] = ()
        self._call: Call | None = None
        self._has_spoken = False
        self._has_told_findings = False

    def begin(self, model: Any, parameters: dict[str, Any]) -> None:
        """A fit begins; where it was entered before we were made, its call is opened here."""
        recorder = self.own.recorder
        if recorder.calls:
            return
        arguments, iterator = entered_fit(model)
        detail = WorkloadDetail(
            backend=recorder.backend,
            model=type(model).__name__,
            epochs=parameters.get("epochs"),
            run_eagerly=bool(getattr(model, "run_eagerly", False)),
        )
        workload = recorder.workload("fit", user_place(2), lambda: detail)
        self._call = Call(recorder, workload, "fit", model, arguments, None)
        self._call.epoch_iterator = iterator
        recorder.calls.append(self._call)
        self._call.watch_steps()

    def epoch_ended(self) -> str:
        """The verdict after the first epoch, and again once the training was examined."""
        is_new = self._was_examined() and not self._has_told_findings
        if self._has_spoken and not is_new:
            return ""
        recorder = self.own.recorder
        call = recorder.active_call()
        begin = recorder.clock()
        text = self._told()
        if call is not None:
            # What we do here is neither the user's training nor a callback of theirs.
            call.paused += recorder.clock() - begin
            call.epoch_callbacks -= recorder.clock() - begin
            call.workload.mark_pause()
        return text

    def end(self) -> str:
        """The fit is over; a short one is examined now. Everything is written."""
        call, self._call = self._call, None
        recorder = self.own.recorder
        if call is not None:
            recorder.calls.remove(call)
            call.close()
            if self.examine and recorder.listener is not None:
                recorder.listener.on_call_end(call)
            call.forget()
        recorder.flush()
        is_new = self._was_examined() and not self._has_told_findings
        return self._told() if is_new else ""

    def _was_examined(self) -> bool:
        return self.examine and any(
            workload.probed for workload in self.own.recorder.workloads.values()
        )

    def _told(self) -> str:
        self._has_spoken = True
        self._has_told_findings = self._was_examined()
        self.own.recorder.flush()
        with self.own.recorder.suspend():
            try:
                diagnosis = self.diagnosis()
                return self._screen(diagnosis) + self._logged(diagnosis)
            except Exception as error:  # noqa: BLE001 - a fault of ours must not stop a training
                return f"fitdoctor · no verdict: {type(error).__name__}: {error}\n"

    def diagnosis(self) -> Diagnosis:
        """What was recorded so far, judged."""
        from fitdoctor.contract.reader import read_recording
        from fitdoctor.diagnosis import diagnose

        return diagnose(read_recording(self.own.path))

    def _screen(self, diagnosis: Diagnosis) -> str:
        from fitdoctor.report.terminal import render

        more = "" if self._has_told_findings else f"  {MORE.format(script=self.script)}\n"
        return render(diagnosis) + more

    def _logged(self, diagnosis: Diagnosis) -> str:
        """Log the fit that takes most of the time; what was not possible is told."""
        fits = [one for one in diagnosis.workloads if one.kind == "fit"]
        if not fits:
            return ""
        longest: DiagnosedWorkload = max(fits, key=lambda one: one.total_ns or 0)
        values, words = measured(longest), in_words(longest)
        reasons = [tracker.log(values, words) for tracker in self.trackers]
        return "".join(f"fitdoctor · not logged: {reason}\n" for reason in reasons if reason)


_ledgers: list[Ledger | None] = []


def process_ledger(*, examine: bool = False) -> Ledger | None:
    """The one ledger of this process, however many callbacks there are; the first one decides.

    None where the process is recorded anyway, by `fitdoctor run` or in a notebook's cell: that
    report says more than ours would.
    """
    if not _ledgers:
        script = sys.argv[0] if sys.argv and sys.argv[0] else "python"
        _ledgers.append(None if wiring.is_recording() else Ledger(script, examine=examine))
    return _ledgers[0]


def chosen_trackers(
    tensorboard: str | Path | None, *, wandb: bool, mlflow: bool
) -> tuple[Tracker, ...]:
    """Where to log to.

    Raises:
        UsageError: What that needs is not installed.
    """
    chosen: list[Tracker] = [] if tensorboard is None else [TensorBoard(tensorboard)]
    chosen += [WeightsAndBiases()] if wandb else []
    chosen += [MLflow()] if mlflow else []
    for tracker in chosen:
        tracker.check()
    return tuple(chosen)


@functools.cache
def watch_class() -> type:
    """The callback's class; made when it is asked for, since Keras is the user's to import."""
    import keras

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        """Says after the first epoch where a step's time goes, and writes a recording.

        Args:
            examine: Also find the causes and what each cure would gain. Takes up to a minute once,
                after some seconds of training, which then goes on with the state it had.
            tensorboard: A folder to log step parts and verdict to, for TensorBoard.
            wandb: Whether to log them to the active run of Weights & Biases.
            mlflow: Whether to log them to the active run of MLflow.

        Example:
            model.fit(data, callbacks=[fitdoctor.Watch(examine=True, tensorboard="logs")])
        """

        def __init__(
            self,
            *,
            examine: bool = False,
            tensorboard: str | Path | None = None,
            wandb: bool = False,
            mlflow: bool = False,
        ) -> None:
            super().__init__()
            trackers = chosen_trackers(tensorboard, wandb=wandb, mlflow=mlflow)
            self._ledger = process_ledger(examine=examine)
            if self._ledger and trackers:
                self._ledger.trackers = trackers

        @property
        def recording(self) -> str | None:
            """The file that `fitdoctor report` reads; None where another recorder is at work."""
            return str(self._ledger.own.path) if self._ledger else None

        def on_train_begin(self, logs: Any = None) -> None:
            if self._ledger:
                self._ledger.begin(self.model, self.params or {})

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            _tell(self._ledger.epoch_ended() if self._ledger else "")

        def on_train_end(self, logs: Any = None) -> None:
            _tell(self._ledger.end() if self._ledger else "")

    return Watch


def _tell(text: str) -> None:
    if text and sys.stderr is not None:
        sys.stderr.write("\n" + text)
