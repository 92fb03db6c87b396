"""Batch scaling: a step that takes as long for a quarter of the batch is bound by dispatch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.apparatus.frozen_steps import time_steps
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable

SECONDS = 0.8
FACTOR = 4
ENOUGH_S = 10.0


def batch_scaling(
    backend: Backend, call: Call, batch: Any, result: Any, *, widest: int = FACTOR
) -> Data:
    """The step at a quarter of, and at four times the user's batch size, up to `widest` times it.

    A step of its own is made for it: other shapes would make the user's compiled step
    more general, and so a little different for the rest of the training.
    """
    rows = backend.rows(batch)
    if rows is None:
        raise NotAvailable("the tensors of a batch do not share their first dimension")
    function = backend.step_function(call.model, steps_per_execution=1)
    data: Data = {"rows": rows, "sizes": {}}
    if rows >= FACTOR:
        quarter = backend.cut(batch, rows // FACTOR)
        data["sizes"][str(rows // FACTOR)] = _time(backend, call, function, quarter, result)
    times = FACTOR
    begin = time.perf_counter()
    # Each size is compiled anew, which may take long on a GPU.
    while times <= widest and time.perf_counter() - begin < ENOUGH_S:
        wider = backend.widen(batch, times)
        try:
            data["sizes"][str(rows * times)] = _time(backend, call, function, wider, result)
        except Exception as error:
            if times == FACTOR:
                raise
            data["ended"] = f"at {rows * times} rows: {type(error).__name__}"  # out of memory
            break
        times *= FACTOR
    return data


def part_of_batch(backend: Backend, call: Call, batch: Any, result: Any) -> Data:
    """The step on a quarter of the batch alone: where a device has too little memory for more."""
    rows = backend.rows(batch)
    if rows is None or rows < FACTOR:
        raise NotAvailable("the batch cannot be cut")
    function = backend.step_function(call.model, steps_per_execution=1)
    quarter = backend.cut(batch, rows // FACTOR)
    timed = _time(backend, call, function, quarter, result)
    return {**timed, "rows": rows // FACTOR, "of_rows": rows}


def _time(
    backend: Backend, call: Call, function: Callable[..., Any], batch: Any, result: Any
) -> Data:
    stepper = backend.stepper(call, function, batch, result)
    return time_steps(stepper, 1, SECONDS).to_record()
