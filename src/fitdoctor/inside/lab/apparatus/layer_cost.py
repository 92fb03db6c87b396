"""Which layer costs most, from what timing the layers gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fitdoctor.contract.evidence.model import Layers, LayerTime
from fitdoctor.contract.limits import FORWARD_PASSES_PER_STEP
from fitdoctor.inside.lab.context import Context, median_ns
from fitdoctor.inside.seams.backends.model_state import all_layers


def timed_layers(context: Context) -> tuple[LayerTime, ...]:
    """The layers as they were timed; none where they were not."""
    found = context.found(Layers)
    return found.layers if found is not None else ()


def cost(row: LayerTime) -> float:
    """Forward and backward time alone where it was timed, else three forward passes."""
    alone = median_ns(row.alone)
    return FORWARD_PASSES_PER_STEP * row.ns if alone is None else alone * row.calls


def dominant(rows: Sequence[LayerTime]) -> tuple[LayerTime, float] | None:
    """The layer that costs most, and its share of all of them.

    What lies inside a layer that was timed alone is in that one's time already.
    """
    alone = {row.name for row in rows if row.alone}
    outer = [row for row in rows if not row.is_model and row.inside not in alone]
    top = max(outer, key=cost, default=None)
    if top is None:
        return None
    return top, cost(top) / max(1.0, sum(cost(row) for row in outer))


def costliest_layer(context: Context, rows: Iterable[LayerTime]) -> Any:
    """The user's layer object that the costliest row is of; None where there is none."""
    top = max(rows, key=cost, default=None)
    if top is None:
        return None
    layers = all_layers(context.model)
    return next((one for one in layers if one.name == top.name), None)
