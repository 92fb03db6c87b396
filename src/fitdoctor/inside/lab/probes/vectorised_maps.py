"""A model that maps a function over the rows of its batch: all rows at once, tried."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.apparatus.changed_steps import step_under
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.models.mapped import MapCall, vectorized_maps

# Sums in another order differ by rounding.
RELATIVE, ABSOLUTE = 1e-3, 1e-5


def vectorised_maps(
    backend: Backend, call: Call, batch: Any, result: Any, forward: Callable[[], Any]
) -> Data:
    """Time the step with every map vectorised, and see whether the model says the same."""
    before = batches.leaves(forward())
    seen: set[MapCall] = set()
    with vectorized_maps(seen):
        after = batches.leaves(forward())
    if not seen:
        raise NotAvailable("no map over the rows was seen")
    if not _same(before, after):
        raise NotAvailable("vectorised, the model says something else")
    data = step_under(backend, call, batch, result, lambda _: vectorized_maps)
    return {**data, "calls": [_told(one) for one in sorted(seen)]}


def _same(before: list[Any], after: list[Any]) -> bool:
    ops = sys.modules["keras"].ops
    return len(before) == len(after) and all(
        one.shape == other.shape
        and bool(ops.all(ops.abs(one - other) <= ABSOLUTE + RELATIVE * ops.abs(one)))
        for one, other in zip(before, after, strict=True)
    )


def _told(one: MapCall) -> Data:
    return {"call": one.name, "file": one.place.file, "line": one.place.line}
