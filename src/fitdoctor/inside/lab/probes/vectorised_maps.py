"""A model that maps a function over the rows of its batch: all rows at once, tried."""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.evidence.model import VectorisedStep
from fitdoctor.contract.places import CallLine
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns, step_under
from fitdoctor.inside.lab.apparatus.layer_cost import timed_layers
from fitdoctor.inside.lab.apparatus.model_pass import (
    forward_pass,
    forward_with_loss,
    has_users_loss,
)
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe
from fitdoctor.inside.lab.probes.layers import shortest_step_ns
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.models.mapped import MapCall, vectorized_maps

# Sums in another order differ by rounding.
RELATIVE, ABSOLUTE = 1e-3, 1e-5


class VectorisedProbe(Probe[VectorisedStep]):
    phase = Phase.LAYERS
    subjects = STEPS
    after = ("layers", "machine_ceiling", "one_call", "optimizer_update")

    def wanted(self, context: Context) -> bool:
        step_ns = compiled_step_ns(context)
        if step_ns is None or context.trial is None or step_ns < shortest_step_ns(context):
            return False
        loops = any(row.loops and row.is_user for row in timed_layers(context))
        return loops or has_users_loss(context)

    def run(self, context: Context) -> VectorisedStep:
        is_loss = has_users_loss(context)
        forward = forward_with_loss(context) if is_loss else forward_pass(context)
        before = batches.leaves(forward())
        seen: set[MapCall] = set()
        with vectorized_maps(seen):
            after = batches.leaves(forward())
        if not seen:
            raise NotAvailable("no map over the rows was seen")
        if not _same(before, after):
            raise NotAvailable("vectorised, the model gives something else")
        calls = tuple(CallLine(one.name, one.place.file, one.place.line) for one in sorted(seen))
        return VectorisedStep(**step_under(context, lambda _: vectorized_maps), calls=calls)


def _same(before: list[Any], after: list[Any]) -> bool:
    ops = sys.modules["keras"].ops
    return len(before) == len(after) and all(
        one.shape == other.shape
        and bool(ops.all(ops.abs(one - other) <= ABSOLUTE + RELATIVE * ops.abs(one)))
        for one, other in zip(before, after, strict=True)
    )
