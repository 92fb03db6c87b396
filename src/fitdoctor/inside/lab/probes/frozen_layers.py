"""Layers at the input that training never changes: what they cost in every epoch again.

The frozen part of a model (a pretrained base) gives the same for the same input. Up to the first
layer that learns or draws random numbers, all of it could be computed once. What training takes
then is tried: a copy of the rest is trained on what the frozen layers give.
"""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.evidence.model import WithoutFrozenLayers
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns
from fitdoctor.inside.lab.apparatus.model_pass import loss_of
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.lab.probes.layers import LAYER_STEP_NS
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.clones import nodes_kept

SECONDS = 0.8
WARM_UP_CALLS = 2


class FrozenLayersProbe(Probe[WithoutFrozenLayers]):
    phase = Phase.COPIES

    def wanted(self, context: Context) -> bool:
        is_long = (compiled_step_ns(context) or 0.0) >= LAYER_STEP_NS
        return is_long and has_frozen_layers(context.fit.model)

    def run(self, context: Context) -> WithoutFrozenLayers:
        model = context.fit.model
        # A model of the same layers reads their variables, which JAX keeps elsewhere in a fit.
        context.backend.hold_state(model, context.result)
        return without_frozen_layers(model, context.batch, loss_of(context))


def has_frozen_layers(model: Any) -> bool:
    """Whether some layers of the model are never trained."""
    return any(_is_frozen(layer) for layer in getattr(model, "layers", ()))


def without_frozen_layers(model: Any, batch: Any, loss: Any) -> WithoutFrozenLayers:
    """The time of a training step without the frozen layers at the model's input."""
    with nodes_kept(model):
        return _timed(model, batch, loss)


def _timed(model: Any, batch: Any, loss: Any) -> WithoutFrozenLayers:
    before, first = _split(model)
    frozen = [layer for layer in before if layer.weights]
    if not frozen:
        raise NotAvailable("no layer at the model's input is frozen")
    keras = sys.modules["keras"]
    try:
        # Everything else must follow from what is computed there; else this raises.
        rest = keras.models.clone_model(keras.Model(first.input, model.outputs))
        extractor = keras.Model(model.inputs, first.input)
    except (AttributeError, TypeError, ValueError) as error:
        raise NotAvailable(f"the model cannot be cut after its frozen layers: {error}") from error
    optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
    rest.compile(optimizer=optimizer, loss=loss, jit_compile=model.jit_compile)
    x, y, weight = keras.utils.unpack_x_y_sample_weight(batch)
    features = extractor.predict_on_batch(x)

    def work() -> None:
        rest.train_on_batch(features, y, sample_weight=weight)

    for _ in range(WARM_UP_CALLS):
        work()
    return WithoutFrozenLayers(
        **measure(work, seconds=SECONDS).fields(),
        layers=tuple(layer.name for layer in frozen),
        parameters=sum(int(layer.count_params()) for layer in frozen),
        behind=first.name,
    )


def _split(model: Any) -> tuple[list[Any], Any]:
    """The layers before the first that learns or draws random numbers, and that one."""
    before: list[Any] = []
    for layer in getattr(model, "layers", ()):
        if layer.trainable_weights or _is_random(layer):
            return before, layer
        before.append(layer)
    raise NotAvailable("the model has no layer that learns")


def _is_frozen(layer: Any) -> bool:
    return bool(layer.weights) and not layer.trainable


def _is_random(layer: Any) -> bool:
    """Keras's random layers, and the user's that follow their example, have a seed generator."""
    inner = [layer, *all_layers(layer)]
    return any(getattr(one, "seed_generator", None) is not None for one in inner)
