"""The user's own model with one thing changed for a while: tried where there is a suspicion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.limits import LARGE_TABLE_WEIGHTS
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns, step_under
from fitdoctor.inside.lab.apparatus.layer_cost import costliest_layer, timed_layers
from fitdoctor.inside.lab.apparatus.model_pass import is_users_code
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.lab.probes.recurrent_settings import dropping_layers, unusual_layers
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.contexts import (
    Context as ModelChange,
    as_native_operations,
    in_policy,
    with_default_activations,
    with_optimizer,
    without_metrics,
    without_recurrent_dropout,
)
from fitdoctor.inside.seams.models.native_recurrence import replaceable, with_native_recurrence

# Metrics cost at most a few milliseconds; on longer steps they are a cause only where the profiler
# saw this share of the step outside of the layers.
METRICS_STEP_NS = 30_000_000
OUTSIDE_SHARE = 0.15
# Half precision speeds up arithmetic; shorter steps have little of it.
PRECISION_STEP_NS = 3_000_000
LOW_PRECISION = ("float16", "bfloat16")


def _native_layer(context: Context) -> Any:
    """The costliest layer that leaves for Python and keeps the shape."""
    rows = timed_layers(context)
    return costliest_layer(
        context, (row for row in rows if row.host_ops and row.input == row.output)
    )


def _is_low_precision(context: Context) -> bool:
    policies = [getattr(one, "dtype_policy", None) for one in all_layers(context.model)]
    return any(getattr(policy, "compute_dtype", "") in LOW_PRECISION for policy in policies)


def _is_slow_in_float32(context: Context, step_ns: float) -> bool:
    is_long = step_ns >= PRECISION_STEP_NS
    return is_long and not _is_low_precision(context) and context.on_gpu


def _updates_large_table(context: Context, _: float) -> bool:
    model = context.model
    if context.call is None:
        return False  # a loop's optimizer is not the model's, and cannot be exchanged
    if type(getattr(model, "optimizer", None)).__name__ == "SGD":
        return False
    return any(
        type(layer).__name__ == "Embedding" and layer.count_params() >= LARGE_TABLE_WEIGHTS
        for layer in all_layers(model)
    )


def _may_metrics_matter(context: Context, step_ns: float) -> bool:
    """Most of Keras's own metrics cost little beside a long step; some, and the user's, do not."""
    if context.call is None:
        return False
    given = context.recorder.compiled_with.get(context.model) or {}
    metrics = given.get("metrics")
    if not metrics:
        return False
    users = any(is_users_code(metric, "update_state") for metric in batches.leaves(metrics))
    seen = context.found(Operations)
    is_much_outside = seen is not None and seen.outside_share >= OUTSIDE_SHARE
    return step_ns < METRICS_STEP_NS or users or is_much_outside


class Change(NamedTuple):
    """One change of the model that needs no other layers."""

    is_suspected: Callable[[Context, float], bool]  # gets the step's length as well
    make: Callable[[Context, Any], ModelChange]  # gets the model as well


CHANGES = {
    "native": Change(
        lambda context, _: _native_layer(context) is not None,
        lambda context, _: as_native_operations(_native_layer(context)),
    ),
    "float32": Change(
        lambda context, _: _is_low_precision(context),
        lambda _, model: in_policy(model, "float32"),
    ),
    "bfloat16": Change(_is_slow_in_float32, lambda _, model: in_policy(model, "mixed_bfloat16")),
    "sgd": Change(_updates_large_table, lambda _, model: with_optimizer(model, "sgd")),
    "without_metrics": Change(_may_metrics_matter, lambda _, model: without_metrics(model)),
    "native_recurrence": Change(
        lambda context, _: context.backend.name == "torch" and bool(replaceable(context.model)),
        lambda _, model: with_native_recurrence(model),
    ),
    "fused": Change(
        lambda context, _: bool(dropping_layers(context)),
        lambda _, model: without_recurrent_dropout(model),
    ),
    "default_activations": Change(
        lambda context, _: bool(unusual_layers(context)),
        lambda _, model: with_default_activations(model),
    ),
}


class ChangedStepProbe(Probe[ChangedStep]):
    """The step with one change, in turns with the step as it is."""

    keys = tuple(CHANGES)
    phase = Phase.MODEL
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        step_ns = compiled_step_ns(context)
        # A step function of several steps cannot be compared with.
        if step_ns is None or context.trial is None or context.trial.executions != 1:
            return False
        return CHANGES[self.key].is_suspected(context, step_ns)

    def run(self, context: Context) -> ChangedStep:
        change = CHANGES[self.key]
        return ChangedStep(**step_under(context, lambda model: change.make(context, model)))
