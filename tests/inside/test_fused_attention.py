"""Keras's attention layers take the fused path for a moment: fails loudly when Keras moves it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.inside.seams.models.fused_attention import FreedAttention

keras = pytest.importorskip("keras")


class Watched:
    """How often Keras computed attention in one operation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        own = keras.ops.dot_product_attention

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return own(*args, **kwargs)

        for name in ("multi_head_attention", "grouped_query_attention"):
            module = __import__(f"keras.src.layers.attention.{name}", fromlist=["ops"])
            names = SimpleNamespace(**{**vars(module.ops), "dot_product_attention": counted})
            monkeypatch.setattr(module, "ops", names)


def freed_call(layer: Any, watched: Watched, **options: Any) -> FreedAttention:
    x = keras.ops.ones((2, 8, 16))
    layer(x, x, training=True, **options)
    before = watched.count
    freed = FreedAttention(SimpleNamespace(_flatten_layers=lambda **_: [layer]))
    with freed.context(None)():
        layer(x, x, training=True, **options)
    assert watched.count == before + 1
    layer(x, x, training=True, **options)
    assert (watched.count == before + 1) is bool(freed.reasons)
    return freed


def test_a_layer_on_the_fused_path_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = keras.layers.MultiHeadAttention(2, 8)
    assert freed_call(layer, Watched(monkeypatch)).reasons == set()


@pytest.mark.parametrize("kind", ["MultiHeadAttention", "GroupQueryAttention"])
def test_dropout_is_off_and_on_again(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = (2, 8) if kind == "MultiHeadAttention" else (8, 2, 1)
    layer = getattr(keras.layers, kind)(*given, dropout=0.5)
    freed = freed_call(layer, Watched(monkeypatch))
    assert (freed.reasons, freed.types) == ({"dropout"}, {kind})
    assert layer.get_config()["dropout"] == 0.5


def test_scores_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = keras.layers.MultiHeadAttention(2, 8)
    freed = freed_call(layer, Watched(monkeypatch), return_attention_scores=True)
    assert freed.reasons == {"return_attention_scores"}
