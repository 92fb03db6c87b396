import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


def conv_block(filters):
    return [
        layers.Conv2D(filters, 3, padding="same", activation="relu"),
        layers.Conv2D(filters, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
    ]


def build():
    net = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            *conv_block(16),
            *conv_block(32),
            layers.Flatten(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    net.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        jit_compile=True,
    )
    return net


keras.utils.set_random_seed(32)
rng = np.random.default_rng(32)
pictures = rng.random((1600, 32, 32, 3), dtype="float32")
classes = rng.integers(0, 10, size=1600)
build().fit(pictures, classes, batch_size=32, epochs=max(1, round(10 * SCALE)), verbose=0)
