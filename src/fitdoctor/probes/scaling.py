"""Batch scaling: a step that takes as long for a quarter of the batch is bound by dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.probes.experiment import Data
from fitdoctor.probes.frozen import time_steps
from fitdoctor.recorder.backends.base import Backend, NotAvailable
from fitdoctor.recorder.calls import Call

SECONDS = 0.8
FACTOR = 4


def batch_scaling(backend: Backend, call: Call, batch: Any, result: Any) -> Data:
    """The step at a quarter of, and at four times the user's batch size.

    A step of its own is made for it: other shapes would make the user's compiled step
    more general, and so a little different for the rest of the training.
    """
    rows = backend.rows(batch)
    if rows is None:
        raise NotAvailable("the tensors of a batch do not share their first dimension")
    function = backend.step_function(call.model, steps_per_execution=1)
    data: Data = {"rows": rows, "sizes": {}}
    for size in (rows // FACTOR, rows * FACTOR):
        if size < 1:
            continue
        scaled = backend.cut(batch, size) if size < rows else backend.widen(batch, FACTOR)
        data["sizes"][str(size)] = _time(backend, call, function, scaled, result)
    return data


def _time(
    backend: Backend, call: Call, function: Callable[..., Any], batch: Any, result: Any
) -> Data:
    stepper = backend.stepper(call, function, batch, result)
    return time_steps(stepper, 1, SECONDS).to_record()
