"""Copies of the model with one layer changed, beside an unchanged copy."""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.evidence.model import ChangedCopy
from fitdoctor.inside.lab.apparatus.frozen_steps import Copies, compiled_step_ns
from fitdoctor.inside.lab.apparatus.layer_cost import cost, dominant, timed_layers
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.lab.probes.recurrent_settings import unrolled_layers
from fitdoctor.inside.seams.models.clones import Rebuild, output_layers

# A layer below half of the layers' time is not what a step waits for.
DOMINANT_SHARE = 0.5
GROUPED_SHARE = 0.2
# Real over frozen step up to which the step itself is the limit.
AT_CEILING = 1.2

_COPIES = "copies"


def wanted_changes(context: Context) -> dict[str, Rebuild]:
    """The changes worth trying, by key."""
    step_ns = compiled_step_ns(context)
    if step_ns is None:
        return {}
    found: dict[str, Rebuild] = {"rolled": _rolled} if unrolled_layers(context) else {}
    rows = timed_layers(context)
    if not any(cost(row) for row in rows):
        return found
    whole = sum(row.ns for row in rows)
    if any(row.settings.get("groups", 1) > 1 and row.ns > GROUPED_SHARE * whole for row in rows):
        return {**found, "ungrouped": _ungrouped}
    most = dominant(rows)
    is_at_ceiling = (context.period_ns or step_ns) < AT_CEILING * step_ns
    if most is None or not is_at_ceiling or most[1] < DOMINANT_SHARE:
        return found
    if most[0].name in output_layers(context.fit.model):
        return found  # their width is given by the task
    found |= {"half": _narrowed(most[0].name, 2), "quarter": _narrowed(most[0].name, 4)}
    return {**found, "gru": _as_gru} if most[0].type == "LSTM" else found


class UnchangedCopyProbe(Probe[ChangedCopy]):
    """The measure for all changed copies."""

    keys = ("as_is",)
    phase = Phase.COPIES

    def wanted(self, context: Context) -> bool:
        return bool(wanted_changes(context))

    def run(self, context: Context) -> ChangedCopy:
        return context.shared(_COPIES, lambda: Copies(context)).as_is()


class ChangedCopyProbe(Probe[ChangedCopy]):
    """A copy with one change, beside the unchanged one."""

    phase = Phase.COPIES
    keys = ("rolled", "ungrouped", "half", "quarter", "gru")
    after = ("copy_as_is",)

    def wanted(self, context: Context) -> bool:
        return self.key in wanted_changes(context)

    def run(self, context: Context) -> ChangedCopy:
        change = wanted_changes(context)[self.key]
        return context.shared(_COPIES, lambda: Copies(context)).changed(change)


def _rolled(layer: Any) -> Any:
    if not getattr(layer, "unroll", False):
        return None
    return type(layer).from_config({**layer.get_config(), "unroll": False})


def _ungrouped(layer: Any) -> Any:
    if getattr(layer, "groups", 1) in (None, 1):
        return None
    return type(layer).from_config({**layer.get_config(), "groups": 1})


def _narrowed(name: str, factor: int) -> Rebuild:
    def narrow(layer: Any) -> Any:
        if layer.name != name:
            return None
        config = layer.get_config()
        for width in ("units", "filters"):
            if isinstance(config.get(width), int):
                return type(layer).from_config({**config, width: max(1, config[width] // factor)})
        return None

    return narrow


def _as_gru(layer: Any) -> Any:
    if type(layer).__name__ != "LSTM":
        return None
    config = layer.get_config()
    kept = ("name", "units", "return_sequences", "go_backwards", "dropout", "recurrent_dropout")
    return sys.modules["keras"].layers.GRU(**{key: config[key] for key in kept if key in config})
