import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(35)
rng = np.random.default_rng(35)
houses = rng.normal(size=(4096 + 6144, 16)).astype("float32")
prices = (houses[:, :4].sum(axis=1) + rng.normal(0, 0.1, size=len(houses))).astype("float32")

model = keras.Sequential(
    [
        keras.Input((16,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
model.fit(
    houses[:4096],
    prices[:4096],
    batch_size=64,
    epochs=max(1, round(10 * SCALE)),
    validation_data=(houses[4096:], prices[4096:]),
    validation_batch_size=1024,
    verbose=0,
)
