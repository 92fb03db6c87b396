"""Settings of recurrent layers that keep them from the fused kernel, or unroll their loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fitdoctor.contract.evidence.model import (
    OtherActivations,
    RecurrentDropout,
    UnrolledLayers,
)
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.contexts import other_activations


class UnrolledProbe(Probe[UnrolledLayers]):
    """Layers whose time loop is unrolled."""

    phase = Phase.MODEL
    subjects = STEPS
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return compiled_step_ns(context) is not None and bool(unrolled_layers(context))

    def run(self, context: Context) -> UnrolledLayers:
        return UnrolledLayers(_types(unrolled_layers(context)))


class RecurrentDropoutProbe(Probe[RecurrentDropout]):
    """Layers with recurrent dropout."""

    phase = Phase.MODEL
    subjects = STEPS
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return compiled_step_ns(context) is not None and bool(dropping_layers(context))

    def run(self, context: Context) -> RecurrentDropout:
        dropping = dropping_layers(context)
        # A layer's cell was made by the layer, not by a call of the user's.
        cells = [getattr(one, "cell", None) for one in dropping]
        made = [one for one in dropping if not any(one is cell for cell in cells)]
        return RecurrentDropout(_types(made))


class OtherActivationsProbe(Probe[OtherActivations]):
    """Layers with activations that no fused kernel has."""

    phase = Phase.MODEL
    subjects = STEPS
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return compiled_step_ns(context) is not None and bool(unusual_layers(context))

    def run(self, context: Context) -> OtherActivations:
        unusual = unusual_layers(context)
        keywords = {name for layer in unusual for name in other_activations(layer)}
        return OtherActivations(_types(unusual), tuple(sorted(keywords)))


def unusual_layers(context: Context) -> list[Any]:
    """Of the user's model on a GPU, the only place of fused kernels, with other activations."""
    if not context.on_gpu:
        return []
    return [one for one in all_layers(context.model) if other_activations(one)]


def unrolled_layers(context: Context) -> list[Any]:
    """Of the user's model."""
    return [one for one in all_layers(context.model) if getattr(one, "unroll", False)]


def dropping_layers(context: Context) -> list[Any]:
    """Of the user's model, with recurrent dropout."""
    return [one for one in all_layers(context.model) if getattr(one, "recurrent_dropout", 0)]


def _types(layers: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted({type(layer).__name__ for layer in layers}))
