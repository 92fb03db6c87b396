"""Cost by layer on the frozen batch: the forward pass of all, the whole step of the costly."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import Any

from fitdoctor.contract.evidence.model import Layers, LayerTime
from fitdoctor.inside.lab.apparatus import arithmetic
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns
from fitdoctor.inside.lab.apparatus.layer_timer import Forward, forward_times, timed_alone
from fitdoctor.inside.lab.apparatus.model_pass import forward_pass
from fitdoctor.inside.lab.apparatus.shapes import shape_of
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.layer_step import layer_step

# Layers are timed only where a step is long beside the cost of eager calls.
LAYER_STEP_NS = 3_000_000
USERS_STEP_NS = {"tensorflow": 1_000_000, "jax": 200_000, "torch": 1_000_000}
PART = 4  # layers are timed on the whole batch and on this fraction of it
MAX_ROWS = 64
# Layers with at least this share of the forward pass are timed alone, backward too.
ALONE_SHARE = 0.08
ALONE_LAYERS = 5
# Settings of a layer that decide how it is computed.
SHOWN_SETTINGS = (
    "units",
    "filters",
    "groups",
    "unroll",
    "recurrent_dropout",
    "input_dim",
    "output_dim",
    "mask_zero",
)

Row = tuple[LayerTime, Forward]


class LayersProbe(Probe[Layers]):
    phase = Phase.LAYERS
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        step_ns = compiled_step_ns(context)
        if step_ns is None or context.trial is None:
            return False
        return step_ns >= shortest_step_ns(context)

    def run(self, context: Context) -> Layers:
        """On the whole batch and on a part of it.

        Called eagerly, each layer has a fixed cost beside its arithmetic. The difference
        between the whole batch and a part of it leaves that cost out.
        """
        backend = context.backend
        full = forward_times(backend, forward_pass(context))
        whole = context.step.rows or 1
        size = whole // PART
        part = forward_pass(context, size) if size else None
        less = forward_times(backend, part) if part is not None else {}
        rows: list[Row] = []
        for key, forward in full.items():
            fixed = less[key].ns if key in less else 0
            ns = max(0, round((forward.ns - fixed) / (1 - size / whole))) if less else forward.ns
            rows.append((_row(forward, ns, is_model=forward.layer is context.model), forward))
        rows.sort(key=lambda pair: -pair[0].ns)
        timed = _with_times_alone(backend, rows, context.step.values)
        return Layers(layers=timed[:MAX_ROWS], without_fixed_price=bool(less))


def shortest_step_ns(context: Context) -> float:
    """Steps from which on layers are timed: shorter where the user wrote some of them.

    Keras's own layers in so short a step cost less than starting it.
    """
    inner = [one for one in all_layers(context.model) if not getattr(one, "layers", None)]
    if not any(_is_users(layer) for layer in inner):
        return LAYER_STEP_NS
    return USERS_STEP_NS[context.backend.name]


def _with_times_alone(
    backend: Backend, rows: list[Row], values: dict[int, Any]
) -> tuple[LayerTime, ...]:
    """The costly layers also with what they take alone, compiled, with their gradients."""
    worth = {id(forward) for _, forward in _worth_timing(rows)[:ALONE_LAYERS]}
    return tuple(
        _timed(backend, row, forward, values) if id(forward) in worth else row
        for row, forward in rows
    )


def _worth_timing(rows: list[Row]) -> list[Row]:
    """The costliest first."""
    whole = sum(row.ns for row, _ in rows) or 1
    with_inner: Counter[str] = Counter()
    for row, _ in rows:
        with_inner[row.inside or row.name] += row.ns
    outer = [
        (row, forward)
        for row, forward in rows
        if not (row.inside or row.is_model or getattr(forward.layer, "layers", None))
    ]
    all_flops = sum(row.flops or 0.0 for row, _ in outer) or 1.0

    def share(row: LayerTime) -> float:
        # A recurrence called eagerly is nearly all fixed cost: what is left of it may drown in
        # noise, so that its arithmetic counts as well.
        return max(with_inner[row.name] / whole, (row.flops or 0.0) / all_flops)

    outer.sort(key=lambda pair: -share(pair[0]))
    # A layer that leaves for Python may cost little when called eagerly: users' own come too.
    return [pair for pair in outer if share(pair[0]) >= ALONE_SHARE or pair[0].is_user]


def _timed(backend: Backend, row: LayerTime, forward: Forward, values: dict[int, Any]) -> LayerTime:
    try:
        step = layer_step(
            backend.name, forward.layer, forward.inputs, values, is_first=forward.is_first
        )
        return replace(
            row,
            alone=timed_alone(backend, step.run).timed(),
            backward=step.backward,
            host_ops=step.host_ops,
            loops=step.loops,
        )
    except Exception as error:  # noqa: BLE001 - a layer that cannot run alone is no failure
        return replace(row, alone_reason=f"{type(error).__name__}: {str(error)[:120]}")


def _row(forward: Forward, ns: int, *, is_model: bool) -> LayerTime:
    layer = forward.layer
    inputs, output = shape_of(forward.inputs), shape_of(forward.output)
    weights = [tuple(int(n) for n in v.shape) for v in getattr(layer, "weights", [])]
    kind = type(layer).__name__
    code = getattr(type(layer).call, "__code__", None)
    is_user = code is not None and is_user_file(code.co_filename)
    is_known = inputs is not None and output is not None
    return LayerTime(
        name=str(layer.name),
        type=kind,
        ns=ns,
        calls=forward.calls,
        inside=forward.inside,
        is_model=is_model,
        is_user=is_user,
        file=code.co_filename if code is not None and is_user else None,
        line=code.co_firstlineno if code is not None and is_user else None,
        parameters=_parameters(layer),
        flops=arithmetic.flops(kind, weights, inputs or (), output or ()) if is_known else None,
        bytes=arithmetic.moved_bytes(weights, inputs or (), output or ()) if is_known else None,
        input=inputs,
        output=output,
        settings={
            name: getattr(layer, name)
            for name in SHOWN_SETTINGS
            if isinstance(getattr(layer, name, None), int | float | bool)
        },
    )


def _parameters(layer: Any) -> int | None:
    try:
        return int(layer.count_params())
    except (ValueError, TypeError, AttributeError):
        return None


def _is_users(layer: Any) -> bool:
    module = sys.modules.get(type(layer).__module__)
    file = getattr(module, "__file__", None)
    return file is not None and is_user_file(file)
