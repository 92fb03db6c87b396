"""A layer that the model calls many times in one pass: would one call on all of it do?

Only where no call needs what another has computed. That is tried: with the layer's outputs
replaced by zeros, all its inputs must stay what they were.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.lab.probes.layers import timed_alone
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.models.layer_step import layer_step

MANY_CALLS = 4


def one_call_instead(
    backend: Backend, layer: Any, forward: Callable[[], Any], values: dict[int, Any]
) -> Data:
    """Time one call on the inputs of all calls together, which has as many rows as all of them."""
    ops = sys.modules["keras"].ops
    seen = _inputs(layer, forward, blank=False)
    if len(seen) < MANY_CALLS:
        raise NotAvailable("the layer is called only a few times")
    if not _same(ops, seen, _inputs(layer, forward, blank=True)):
        raise NotAvailable("a call needs what the one before it computed")
    try:
        together = tuple(ops.concatenate(parts, axis=0) for parts in zip(*seen, strict=True))
    except Exception as error:
        raise NotAvailable("the inputs of the calls have different shapes") from error
    step = layer_step(backend.name, layer, together, values)
    return {**timed_alone(backend, step.run), "layer": str(layer.name), "calls": len(seen)}


def _inputs(layer: Any, forward: Callable[[], Any], *, blank: bool) -> list[tuple[Any, ...]]:
    """The positional arguments of every call in a forward pass."""
    seen: list[tuple[Any, ...]] = []
    ops = sys.modules["keras"].ops

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(called: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(called, *args, **kwargs)
            if called is not layer:
                return result
            seen.append(args)
            return batches.map_leaves(ops.zeros_like, result) if blank else result

        return __call__

    patches = Patches()
    patches.replace(sys.modules["keras"].layers.Layer, "__call__", watched)
    try:
        forward()
    finally:
        patches.undo()
    return seen


def _same(ops: Any, first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]) -> bool:
    if len(first) != len(second):
        return False
    for one, other in zip(batches.leaves(first), batches.leaves(second), strict=True):
        if one.shape != other.shape or not bool(ops.all(ops.equal(one, other))):
            return False
    return True
