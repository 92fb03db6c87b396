"""Small models and data that the claims are tried on."""

from __future__ import annotations

from typing import Any


def compiled(layers: list[Any], shape: tuple[int, ...], **arguments: Any) -> Any:
    """A compiled Sequential model for classes, unless the arguments ask for something else."""
    import keras

    model = keras.Sequential([keras.Input(shape), *layers])
    model.compile(**{"optimizer": "adam", "loss": "sparse_categorical_crossentropy", **arguments})
    return model


def mlp(width: int = 32, inputs: int = 20, **arguments: Any) -> Any:
    """A tiny dense network."""
    import keras

    layers = keras.layers
    dense = layers.Dense(width, activation="relu")
    return compiled([dense, layers.Dense(10, activation="softmax")], (inputs,), **arguments)


def cnn(size: int = 32, **arguments: Any) -> Any:
    """A small convolutional network."""
    import keras

    layers = keras.layers
    return compiled(
        [
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ],
        (size, size, 3),
        **arguments,
    )


def rows(count: int, inputs: int = 20) -> tuple[Any, Any]:
    """Rows of numbers with classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.normal(size=(count, inputs)).astype("float32"), rng.integers(0, 10, count)


def images(count: int, size: int = 32) -> tuple[Any, Any]:
    """Float images with classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    return rng.random((count, size, size, 3), dtype=np.float32), rng.integers(0, 10, count)


def jpegs(count: int, size: int = 256) -> list[bytes]:
    """Encoded images, smooth enough to be of an everyday size."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (count, 16, 16, 3)).astype("float32")
    return [
        tf.io.encode_jpeg(tf.cast(tf.image.resize(image, (size, size)), tf.uint8)).numpy()
        for image in coarse
    ]
