import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np


def build(width):
    inputs = keras.Input((2048,), name="expression")
    hidden = keras.layers.Dense(width, activation="relu", name="wide")(inputs)
    hidden = keras.layers.Dense(16, activation="relu")(hidden)
    outputs = keras.layers.Dense(1)(hidden)
    return keras.Model(inputs, outputs)


def main():
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5120, 2048)).astype("float32")
    y = rng.normal(size=(5120, 1)).astype("float32")
    model = build(width=1024)
    model.compile(optimizer="sgd", loss="mse")
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    model.fit(x, y, batch_size=512, epochs=max(1, round(50 * scale)), verbose=0)


if __name__ == "__main__":
    main()
