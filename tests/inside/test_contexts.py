from __future__ import annotations

from types import SimpleNamespace

import pytest

from fitdoctor.inside.seams.models.contexts import (
    other_activations,
    with_default_activations,
    without_recurrent_dropout,
)


class Recurrent:
    """As in Keras: the layer only passes on what its cell has."""

    def __init__(self, dropout: float) -> None:
        self.cell = SimpleNamespace(recurrent_dropout=dropout)

    @property
    def recurrent_dropout(self) -> float:
        return self.cell.recurrent_dropout


def test_recurrent_dropout_is_off_for_a_moment_and_back_whatever_happens() -> None:
    layers = [Recurrent(0.2), Recurrent(0.0), SimpleNamespace()]
    model = SimpleNamespace(_flatten_layers=lambda include_self: layers, jit_compile=True)
    context = without_recurrent_dropout(model)
    with context():
        assert [one.recurrent_dropout for one in layers[:2]] == [0.0, 0.0]
    assert [one.recurrent_dropout for one in layers[:2]] == [0.2, 0.0]
    with pytest.raises(KeyError), context():
        raise KeyError
    assert layers[0].recurrent_dropout == 0.2


def test_kerass_own_layer_passes_on_its_cells_dropout() -> None:
    """Fails loudly when Keras keeps it elsewhere."""
    keras = pytest.importorskip("keras")
    layer = keras.layers.LSTM(4, recurrent_dropout=0.3)
    model = SimpleNamespace(_flatten_layers=lambda include_self: [layer], jit_compile=True)
    with without_recurrent_dropout(model)():
        assert layer.recurrent_dropout == 0.0
    assert layer.recurrent_dropout == 0.3


def test_activations_of_the_fused_kernel_for_a_moment() -> None:
    """Fails loudly when Keras keeps them elsewhere."""
    keras = pytest.importorskip("keras")
    usual = keras.layers.GRU(4)
    layer = keras.layers.LSTM(4, recurrent_activation="hard_sigmoid")
    model = SimpleNamespace(
        _flatten_layers=lambda include_self: [usual, layer, keras.layers.Dense(3)],
        jit_compile=True,
    )
    assert other_activations(usual) == ()
    assert other_activations(layer) == ("recurrent_activation",)
    with with_default_activations(model)():
        assert other_activations(layer) == ()
        assert layer.recurrent_activation is keras.activations.sigmoid
        on_tensorflow = keras.backend.backend() == "tensorflow"
        assert model.jit_compile is not on_tensorflow
    assert layer.recurrent_activation is keras.activations.hard_sigmoid
    assert model.jit_compile is True
