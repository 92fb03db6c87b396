import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np


class RowNormalization(keras.layers.Layer):
    """Mean 0 and variance 1 in each row."""

    def call(self, rows):
        mean = rows.mean(axis=1, keepdims=True)
        variance = rows.var(axis=1, keepdims=True)
        return (rows - mean) / jax.numpy.sqrt(variance + 1e-5)


class Regressor(keras.Model):
    def __init__(self):
        super().__init__()
        self.normalization = RowNormalization()
        self.hidden = keras.layers.Dense(64, activation="relu")
        self.head = keras.layers.Dense(1)

    def call(self, rows):
        return self.head(self.hidden(self.normalization(rows)))


keras.utils.set_random_seed(38)
rng = np.random.default_rng(38)
signals = rng.normal(size=(204_800, 64)).astype("float32")
peaks = signals.max(axis=1, keepdims=True)

model = Regressor()
model.compile(optimizer="adam", loss="mse")
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(signals, peaks, batch_size=1024, epochs=epochs, verbose=2)
