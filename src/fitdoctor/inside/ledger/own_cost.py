"""What the recorder itself costs per step, measured on a step that does nothing."""

from __future__ import annotations

import time

from fitdoctor.contract.writer import Writer
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.workload import Workload

STEPS = 2000
HOOKS_PER_STEP = 2  # on_train_batch_begin and on_train_batch_end


class _Model:
    steps_per_execution = 1

    def train_function(self, *_: object) -> None:
        """Do nothing."""


def nanoseconds_per_step() -> float:
    """Time of the ledger's own code per step: the timed step, its row, and the hooks' clocks."""
    recorder = Recorder(Writer("/dev/null"))
    model = _Model()
    call = Call(recorder, Workload(0, "fit", None, recorder.writer), "fit", model, {}, None)
    plain = _time(model)
    call.watch_steps()
    watched = _time(model)
    call.unwatch_steps()
    hooks = HOOKS_PER_STEP * _time_hook(recorder)
    return max(0.0, watched - plain) + hooks


def _time(model: _Model) -> float:
    begin = time.perf_counter_ns()
    for _ in range(STEPS):
        model.train_function(None)
    return (time.perf_counter_ns() - begin) / STEPS


def _time_hook(recorder: Recorder) -> float:
    begin = time.perf_counter_ns()
    total = 0
    for _ in range(STEPS):
        recorder.active_call()
        before = recorder.clock()
        total += recorder.clock() - before
    return (time.perf_counter_ns() - begin) / STEPS
