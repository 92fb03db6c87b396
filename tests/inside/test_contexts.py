from __future__ import annotations

from types import SimpleNamespace

import pytest

from fitdoctor.inside.seams.models.contexts import without_recurrent_dropout


class Recurrent:
    """As in Keras: the layer only passes on what its cell has."""

    def __init__(self, dropout: float) -> None:
        self.cell = SimpleNamespace(recurrent_dropout=dropout)

    @property
    def recurrent_dropout(self) -> float:
        return self.cell.recurrent_dropout


def test_recurrent_dropout_is_off_for_a_moment_and_back_whatever_happens() -> None:
    layers = [Recurrent(0.2), Recurrent(0.0), SimpleNamespace()]
    model = SimpleNamespace(_flatten_layers=lambda include_self: layers)
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
    model = SimpleNamespace(_flatten_layers=lambda include_self: [layer])
    with without_recurrent_dropout(model)():
        assert layer.recurrent_dropout == 0.0
    assert layer.recurrent_dropout == 0.3
