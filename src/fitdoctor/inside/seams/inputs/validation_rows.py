"""The rows of a validation set that comes in batches of a loader's or a pipeline's own."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.places import CallLine
from fitdoctor.inside.seams.inputs.constructed import construction
from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.inputs.tf_stages import walk
from fitdoctor.inside.seams.not_available import NotAvailable

COLLECT_S = 2.0
MOST_ROWS = 65_536


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
