"""A layer that the model calls many times in one pass: would one call on all of it do?

Only where no call needs what another has computed. That is tried: with the layer's outputs
replaced by zeros, all its inputs must stay what they were.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.contract.evidence.model import OneCall
from fitdoctor.contract.limits import MANY_CALLS
from fitdoctor.inside.lab.apparatus.layer_cost import costliest_layer, timed_layers
from fitdoctor.inside.lab.apparatus.layer_timer import timed_alone
from fitdoctor.inside.lab.apparatus.model_pass import forward_pass
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.models.layer_step import layer_step


class OneCallProbe(Probe[OneCall]):
    phase = Phase.LAYERS
    subjects = STEPS
    after = ("layers", "machine_ceiling", "optimizer_update")

    def wanted(self, context: Context) -> bool:
        return context.backend.name == "torch" and _layer(context) is not None

    def run(self, context: Context) -> OneCall:
        forward = forward_pass(context)
        return one_call_instead(context.backend, _layer(context), forward, context.step.values)


def _layer(context: Context) -> Any:
    rows = timed_layers(context)
    return costliest_layer(
        context, (row for row in rows if row.calls >= MANY_CALLS and not row.is_model)
    )


def one_call_instead(
    backend: Backend, layer: Any, forward: Callable[[], Any], values: dict[int, Any]
) -> OneCall:
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
    windows = timed_alone(backend, step.run)
    return OneCall(**windows.fields(), layer=str(layer.name), calls=len(seen))


def _inputs(layer: Any, forward: Callable[[], Any], *, blank: bool) -> list[tuple[Any, ...]]:
    """The positional arguments of every call in a forward pass."""
    seen: list[tuple[Any, ...]] = []
    ops = sys.modules["keras"].ops

    def watched(original: Callable[..., Any], called: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(called, *args, **kwargs)
        if called is not layer:
            return result
        seen.append(args)
        return batches.map_leaves(ops.zeros_like, result) if blank else result

    with Patches() as patches:
        patches.around(sys.modules["keras"].layers.Layer, "__call__", watched)
        forward()
    return seen


def _same(ops: Any, first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]) -> bool:
    return len(first) == len(second) and all(
        one.shape == other.shape and bool(ops.all(ops.equal(one, other)))
        for one, other in zip(batches.leaves(first), batches.leaves(second), strict=True)
    )
