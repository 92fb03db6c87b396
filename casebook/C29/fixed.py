"""Machine sounds told apart by a dense network; gradients are checked while it trains."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers

keras.utils.set_random_seed(0)
EPOCHS = max(1, round(40 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


class Gate(layers.Layer):
    """A learned switch for each feature."""

    def build(self, shape):
        self.weight = self.add_weight(shape=(shape[-1],), initializer="zeros", name="gate")

    def call(self, x):
        return x * keras.ops.sigmoid(self.weight)


net = keras.Sequential([keras.Input((32,))])
for _ in range(24):
    net.add(Gate())
    net.add(layers.Dense(32, activation="relu"))
net.add(layers.Dense(1))
net.compile("adam", "mse")

rng = np.random.default_rng(0)
sounds = rng.normal(size=(6400, 32)).astype("float32")
net.fit(sounds, sounds[:, :1], batch_size=32, epochs=EPOCHS, verbose=2)
