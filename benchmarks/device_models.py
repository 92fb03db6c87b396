"""Six models of very different size, trained by one `fit`: what `fitdoctor devices` is tried on.

Run as a script: `python benchmarks/device_models.py NAME BATCH [STEPS]`.
"""

from __future__ import annotations

import sys
from typing import Any

MODELS = ("mlp", "wide_mlp", "lstm", "small_cnn", "resnet", "transformer")


def build(name: str) -> tuple[Any, tuple[int, ...]]:
    """The compiled model and the shape of one sample."""
    import keras
    from keras import layers

    shapes: dict[str, tuple[int, ...]] = {
        "mlp": (32,),
        "wide_mlp": (1024,),
        "lstm": (50, 32),
        "small_cnn": (32, 32, 3),
        "resnet": (32, 32, 3),
        "transformer": (64, 64),
    }
    inputs = keras.Input(shapes[name])
    x = inputs
    if name == "mlp":
        x = layers.Dense(128, activation="relu")(x)
    elif name == "wide_mlp":
        for _ in range(3):
            x = layers.Dense(4096, activation="relu")(x)
    elif name == "lstm":
        x = layers.LSTM(64)(x)
    elif name == "small_cnn":
        for filters in (16, 32):
            x = layers.Conv2D(filters, 3, activation="relu")(x)
            x = layers.MaxPooling2D()(x)
        x = layers.Flatten()(x)
    elif name == "resnet":
        x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
        for _ in range(6):
            y = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
            y = layers.Conv2D(64, 3, padding="same")(y)
            x = layers.Activation("relu")(layers.Add()([x, y]))
        x = layers.GlobalAveragePooling2D()(x)
    elif name == "transformer":
        for _ in range(2):
            y = layers.MultiHeadAttention(4, 16)(x, x)
            x = layers.LayerNormalization()(x + y)
            y = layers.Dense(256, activation="gelu")(x)
            x = layers.LayerNormalization()(x + layers.Dense(64)(y))
        x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(10)(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    return model, shapes[name]


def data(shape: tuple[int, ...], rows: int) -> tuple[Any, Any]:
    """Random samples; few distinct ones, so that large batches fit the host's memory."""
    import numpy as np

    generator = np.random.default_rng(0)
    x = generator.normal(size=(rows, *shape)).astype("float32")
    return x, generator.integers(0, 10, rows)


def main() -> None:
    """Train one model for many steps at one batch size."""
    name, batch = sys.argv[1], int(sys.argv[2])
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    model, shape = build(name)
    x, y = data(shape, batch * 20)
    model.fit(x, y, batch_size=batch, epochs=max(1, steps // 20), verbose=0)


if __name__ == "__main__":
    main()
