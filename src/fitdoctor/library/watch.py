"""`fitdoctor.Watch()`: a callback that keeps the ledger of a fit, for those who cannot change how
the script is started.

It only has hooks at epochs and at the ends, so that Keras still dispatches batches
asynchronously, and it makes no experiments: it says where the time goes, not what would help.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from fitdoctor.contract.records import WorkloadDetail
from fitdoctor.inside import wiring
from fitdoctor.inside.ledger.callsite import user_place
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.library.own_process import OwnRecording, start_recording

MORE = "for causes and what each cure would gain: fitdoctor run {script}"


class Ledger:
    """What the callback does, apart from Keras's base class."""

    def __init__(self, script: str) -> None:
        self.script = os.path.basename(script)
        self.own: OwnRecording = start_recording(script, probes=False)
        self._call: Call | None = None
        self._has_spoken = False

    def begin(self, model: Any, parameters: dict[str, Any]) -> None:
        """A fit begins; where it was entered before we were made, its call is opened here."""
        recorder = self.own.recorder
        if recorder.calls:
            return
        detail = WorkloadDetail(
            backend=recorder.backend,
            model=type(model).__name__,
            epochs=parameters.get("epochs"),
            run_eagerly=bool(getattr(model, "run_eagerly", False)),
        )
        workload = recorder.workload("fit", user_place(2), lambda: detail)
        self._call = Call(recorder, workload, "fit", model, {}, None)
        recorder.calls.append(self._call)
        self._call.watch_steps()

    def epoch_ended(self) -> str:
        """The verdict after the first epoch, and nothing after the others."""
        if self._has_spoken:
            return ""
        self._has_spoken = True
        recorder = self.own.recorder
        call = recorder.active_call()
        begin = recorder.clock()
        recorder.flush()
        with recorder.suspend():
            try:
                text = self.verdict()
            except Exception as error:  # noqa: BLE001 - a fault of ours must not stop a training
                text = f"fitdoctor · no verdict: {type(error).__name__}: {error}\n"
        if call is not None:
            # What we do here is neither the user's training nor a callback of theirs.
            call.paused += recorder.clock() - begin
            call.epoch_callbacks -= recorder.clock() - begin
        return text

    def end(self) -> None:
        """The fit is over; everything is written."""
        if self._call is not None:
            self.own.recorder.calls.remove(self._call)
            self._call.close()
            self._call = None
        self.own.recorder.flush()

    def verdict(self) -> str:
        """The screen of what was recorded so far."""
        from fitdoctor.contract.reader import read_recording
        from fitdoctor.diagnosis import diagnose
        from fitdoctor.report.terminal import render

        diagnosis = diagnose(read_recording(self.own.path))
        return f"{render(diagnosis)}  {MORE.format(script=self.script)}\n"


@functools.cache
def process_ledger() -> Ledger | None:
    """The one ledger of this process, however many callbacks there are.

    None where the process is recorded anyway, by `fitdoctor run` or in a notebook's cell: that
    report says more than ours would.
    """
    if wiring.is_recording():
        return None
    return Ledger(sys.argv[0] if sys.argv and sys.argv[0] else "python")


@functools.cache
def watch_class() -> type:
    """The callback's class; made when it is asked for, since Keras is the user's to import."""
    import keras

    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        """Says after the first epoch where a step's time goes, and writes a recording.

        Example:
            model.fit(data, callbacks=[fitdoctor.Watch()])
        """

        def __init__(self) -> None:
            super().__init__()
            self._ledger = process_ledger()

        @property
        def recording(self) -> str | None:
            """The file that `fitdoctor report` reads; None where another recorder is at work."""
            return str(self._ledger.own.path) if self._ledger else None

        def on_train_begin(self, logs: Any = None) -> None:
            if self._ledger:
                self._ledger.begin(self.model, self.params or {})

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            text = self._ledger.epoch_ended() if self._ledger else ""
            if text and sys.stderr is not None:
                sys.stderr.write("\n" + text)

        def on_train_end(self, logs: Any = None) -> None:
            if self._ledger:
                self._ledger.end()

    return Watch
