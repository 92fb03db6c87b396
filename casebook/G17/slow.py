import os

import keras
import numpy as np
from keras import layers, ops

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


class Mixer(layers.Layer):
    """A state that is mixed again at every position."""

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    def build(self, shape):
        self.mix = self.add_weight(shape=(self.units, self.units), name="mix")
        self.read = self.add_weight(shape=(shape[-1], self.units), name="read")

    def call(self, x):
        state = ops.zeros((ops.shape(x)[0], self.units))
        for position in range(x.shape[1]):
            state = ops.tanh(ops.matmul(state, self.mix) + ops.matmul(x[:, position], self.read))
        return state


keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)
x = rng.normal(size=(6400, 150, 16)).astype("float32")
y = x.mean(axis=(1, 2))[:, None]

model = keras.Sequential([keras.Input((150, 16)), Mixer(64), layers.Dense(1)])
model.compile(optimizer="adam", loss="mse", jit_compile=False)
model.fit(x, y, batch_size=64, epochs=max(1, round(60 * SCALE)), verbose=2)
