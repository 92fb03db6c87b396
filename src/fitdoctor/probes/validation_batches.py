"""A validation pass with larger batches: is it bound by starting its steps?"""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.probes.experiment import Data
from fitdoctor.recorder.backends.base import NotAvailable
from fitdoctor.recorder.calls import Call

SIZES = (256, 1024)
MOST_ROWS = 65_536


def validation_batches(call: Call) -> Data:
    """Time a pass over the validation arrays at larger batch sizes, after a warm-up each.

    A test function of its own is made for it: other shapes would make the user's more general.
    """
    given = call.arguments.get("validation_data")
    if not isinstance(given, tuple | list) or not 2 <= len(given) <= 3:
        raise NotAvailable("the validation data are not arrays")
    x, y = given[0], given[1]
    rows = _rows(x)
    if rows is None or rows > MOST_ROWS:
        raise NotAvailable("the validation data are not arrays, or too large to try")
    own = call.arguments.get("validation_batch_size") or call.arguments.get("batch_size") or 32
    model = call.model
    kept, model.test_function = model.test_function, None
    data: Data = {"rows": rows, "batch_size": int(own), "ns": {}}
    try:
        for size in SIZES:
            if size > 2 * own:
                data["ns"][str(size)] = _timed(model, x, y, size)
    finally:
        model.test_function = kept
    return data


def _timed(model: Any, x: Any, y: Any, size: int) -> int:
    times = []
    for _ in range(3):
        begin = time.perf_counter_ns()
        model.evaluate(x, y, batch_size=size, verbose=0)
        times.append(time.perf_counter_ns() - begin)
    return min(times)


def _rows(x: Any) -> int | None:
    shape = getattr(x, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else None
