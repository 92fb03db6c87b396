"""A validation pass with larger batches: is it bound by starting its steps?"""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.contract.evidence.validation import ValidationBatches
from fitdoctor.inside.lab.apparatus.validation_share import validation_matters
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.inputs.validation_rows import MOST_ROWS, validation_rows

SIZES = (256, 1024)
# A loader's batches larger than this are not bound by starting each step.
SMALL_BATCH = 32


def validation_batches(call: Call) -> ValidationBatches:
    """Time a pass over the validation data at larger batch sizes, after a warm-up each.

    A test function of its own is made for it: other shapes would make the user's more general.
    """
    given = call.arguments.get("validation_data")
    if isinstance(given, tuple | list) and 2 <= len(given) <= 3:
        x, y = given[0], given[1]
        rows = _rows(x)
        if rows is None or rows > MOST_ROWS:
            raise NotAvailable("the validation data are not arrays, or too large to try")
        own = call.arguments.get("validation_batch_size") or call.arguments.get("batch_size") or 32
        return ValidationBatches(rows, int(own), _passes(call.model, x, y, int(own)))
    loaded = validation_rows(given, call.arguments.get("validation_steps"))
    own = loaded.rows / loaded.batches
    if own > SMALL_BATCH:
        raise NotAvailable("the validation batches are large already")
    # Reading stays: how much of it is for each batch, and how much for each row, is not known.
    passes = _passes(call.model, loaded.x, loaded.y, own)
    whole = {
        size: round((ns + loaded.load_ns) * loaded.parts)
        for size, ns in passes.items()
        if int(size) <= loaded.rows * loaded.parts
    }
    return ValidationBatches(
        rows=round(loaded.rows * loaded.parts),
        batch_size=round(own),
        ns=whole,
        loader=True,
        made=loaded.made,
    )


def _passes(model: Any, x: Any, y: Any, own: float) -> dict[str, int]:
    kept, model.test_function = model.test_function, None
    try:
        return {str(size): _timed(model, x, y, size) for size in SIZES if size > 2 * own}
    finally:
        model.test_function = kept


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


class ValidateInLargerBatches(Probe[ValidationBatches]):
    finds = ValidationBatches
    phase = Phase.CALLS
    after = ("validation_passes",)

    def wanted(self, context: Context) -> bool:
        return validation_matters(context.fit)

    def run(self, context: Context) -> ValidationBatches:
        # During a fit, Keras on JAX keeps the state out of the variables, which validation reads.
        context.backend.hold_state(context.fit.model, context.result)
        return validation_batches(context.fit)


PROBES = (ValidateInLargerBatches(),)
