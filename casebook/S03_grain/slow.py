import os

os.environ["KERAS_BACKEND"] = "jax"

import grain
import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
READINGS = 3200
CHANNELS = 60


def make_lines():
    rng = np.random.default_rng(5)
    table = rng.integers(0, 1024, size=(READINGS, CHANNELS + 1))
    return [",".join(map(str, row)) for row in table]


def parse(line):
    values = [float(field) / 1024 for field in line.split(",")]
    return np.array(values[:-1], "float32"), np.array(values[-1:], "float32")


keras.utils.set_random_seed(5)
readings = grain.MapDataset.source(make_lines()).map(parse).batch(32)

inputs = keras.Input((CHANNELS,))
hidden = keras.layers.Dense(64, activation="relu")(inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
model.compile(optimizer="adam", loss="mse")
model.fit(readings, epochs=max(1, round(60 * SCALE)), verbose=0)
