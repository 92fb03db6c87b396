"""The frozen layers at a model's input: on real Keras."""

from __future__ import annotations

import numpy as np
import pytest
from fake_context import quick_windows

from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.lab.probes.frozen_layers import has_frozen_layers, without_frozen_layers
from fitdoctor.inside.seams.models.clones import NODES

keras = pytest.importorskip("keras")
layers = keras.layers
BATCH = (np.ones((4, 8), "float32"), np.ones((4, 1), "float32"))


def dense(width: int, *, trainable: bool = True):
    return layers.Dense(width, trainable=trainable, name=f"dense_{width}")


def compiled(model):
    model.compile("sgd", "mse")
    return model


def chain(*parts):
    return compiled(keras.Sequential([keras.Input((8,)), *parts]))


def calls_of(model) -> list[tuple[int, ...]]:
    """How often each layer remembers being called, and being used."""
    return [tuple(len(getattr(one, name)) for name in NODES) for one in model.layers]


def test_a_model_that_learns_everywhere_has_none() -> None:
    model = chain(dense(4), layers.BatchNormalization(), dense(1))
    assert not has_frozen_layers(model)
    with pytest.raises(NotAvailable, match="no layer at the model's input is frozen"):
        without_frozen_layers(model, BATCH, "mse")


def test_what_is_frozen_behind_a_layer_that_learns_is_not_the_same_in_every_epoch() -> None:
    model = chain(dense(4), dense(3, trainable=False), dense(1))
    assert has_frozen_layers(model)
    with pytest.raises(NotAvailable, match="no layer at the model's input"):
        without_frozen_layers(model, BATCH, "mse")


def test_nor_is_what_lies_behind_random_numbers() -> None:
    model = chain(layers.Dropout(0.5), dense(3, trainable=False), dense(1))
    with pytest.raises(NotAvailable, match="no layer at the model's input"):
        without_frozen_layers(model, BATCH, "mse")
    base = chain(dense(5, trainable=False), layers.Dropout(0.5))
    with pytest.raises(NotAvailable, match="no layer at the model's input"):
        without_frozen_layers(compiled(chain(base, dense(1))), BATCH, "mse")


def test_a_second_way_around_the_frozen_layers() -> None:
    image = keras.Input((8,))
    frozen = dense(4, trainable=False)(image)
    both = layers.Concatenate()([dense(2)(frozen), image])
    model = compiled(keras.Model(image, dense(1)(both)))
    with pytest.raises(NotAvailable, match="cannot be cut"):
        without_frozen_layers(model, BATCH, "mse")


@pytest.mark.usefixtures(quick_windows.__name__)
def test_the_rest_is_trained_in_a_copy() -> None:
    base = chain(dense(16), dense(4))
    base.trainable = False
    image = keras.Input((8,))
    hidden = base(layers.Rescaling(0.5)(image), training=False)
    model = compiled(keras.Model(image, dense(1)(layers.Dropout(0.1, name="drop")(hidden))))
    weights = [weight.numpy() for weight in model.weights]
    config, nodes = model.to_json(), calls_of(model)
    found = without_frozen_layers(model, BATCH, "mse")
    assert (model.to_json(), calls_of(model)) == (config, nodes)
    assert found.layers == (base.name,)
    assert found.behind == "drop"
    assert found.parameters == base.count_params()
    assert len(found.ns) >= 4
    for before, after in zip(weights, model.weights, strict=True):
        assert (before == after.numpy()).all()
