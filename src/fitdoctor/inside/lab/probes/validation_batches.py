"""A validation pass with larger batches: is it bound by starting its steps?"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.evidence.validation import ValidationBatches
from fitdoctor.contract.places import CallLine
from fitdoctor.inside.lab.apparatus.windows import durations_ns
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.inputs.constructed import construction
from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.inputs.tf_stages import walk

SIZES = (256, 1024)
# A loader's batches larger than this are not bound by starting each step.
SMALL_BATCH = 32
# Validation below this share of the training is not tried in other batches.
VALIDATION_SHARE = 0.1
COLLECT_S = 2.0
MOST_ROWS = 65_536


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
    return min(durations_ns(lambda: model.evaluate(x, y, batch_size=size, verbose=0), 3))


def _rows(x: Any) -> int | None:
    shape = getattr(x, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else None


class ValidateInLargerBatches(Probe[ValidationBatches]):
    phase = Phase.CALLS
    after = ("validation_passes",)

    def wanted(self, context: Context) -> bool:
        return validation_matters(context.fit)

    def run(self, context: Context) -> ValidationBatches:
        # During a fit, Keras on JAX keeps the state out of the variables, which validation reads.
        context.backend.hold_state(context.fit.model, context.result)
        return validation_batches(context.fit)


def validation_matters(call: Call) -> bool:
    """Whether it takes a notable share of the fit."""
    return call.validation > VALIDATION_SHARE * (call.validation + call.step_total)


@dataclass(frozen=True)
class ValidationRows:
    """Some rows as arrays, and what the whole set is beside them."""

    x: Any
    y: Any
    rows: int
    batches: int
    load_ns: int  # that reading these took
    parts: float  # of this size in the whole set
    made: CallLine | None  # the call that says how large a batch is


def validation_rows(data: Any, steps: int | None) -> ValidationRows:
    """Read a loader or pipeline for a while.

    Args:
        data: what `fit` was given to validate on.
        steps: how many of its batches are used; None for all.

    Raises:
        NotAvailable: it cannot be read again, or does not hold plain rows.
    """
    count, made = _facts(data)
    if steps is not None:
        count = steps if count is None else min(count, steps)
    if not count or count < 0:
        raise NotAvailable("how many batches the validation data have is not known")
    begin = time.perf_counter_ns()
    xs, ys = _collected(data, count)
    load_ns = time.perf_counter_ns() - begin
    concatenate = sys.modules["numpy"].concatenate
    x, y = concatenate(xs), concatenate(ys)
    return ValidationRows(x, y, len(x), len(xs), load_ns, count / len(xs), made)


def _facts(data: Any) -> tuple[int | None, CallLine | None]:
    """How many batches there are, and where their size is written."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and isinstance(data, tensorflow.data.Dataset):
        if one_shot_source(data):
            raise NotAvailable("the validation data can be read only once")
        batch = next((stage for stage in walk(data) if stage.op == "batch"), None)
        where = batch.where() if batch is not None and batch.via is None else None
        made = CallLine("batch", where.file, where.line) if where is not None else None
        count = int(data.cardinality())
        return (count if count >= 0 else None), made
    if type(data).__module__.startswith("torch.utils.data"):
        return len(data), construction(data, "batch_size").made
    raise NotAvailable("the validation data are neither arrays nor a loader")


def _collected(data: Iterable[Any], count: int) -> tuple[list[Any], list[Any]]:
    xs: list[Any] = []
    ys: list[Any] = []
    asarray = sys.modules["numpy"].asarray
    until = time.perf_counter() + COLLECT_S
    rows = 0
    for batch in data:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise NotAvailable("the validation batches are no pairs of inputs and targets")
        x, y = batch
        if not hasattr(x, "shape") or not hasattr(y, "shape") or not len(x.shape):
            raise NotAvailable("the validation inputs are of several parts")
        xs.append(asarray(x))
        ys.append(asarray(y))
        rows += len(xs[-1])
        if len(xs) >= count or rows >= MOST_ROWS or time.perf_counter() > until:
            break
    if not xs or len({one.shape[1:] for one in xs}) > 1:
        raise NotAvailable("the validation batches are of different shapes")
    return xs, ys
