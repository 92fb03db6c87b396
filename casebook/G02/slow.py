import os

import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
x = rng.normal(size=(3200, 20)).astype("float32")
y = (x[:, :3].sum(axis=1, keepdims=True) > 0).astype("float32")

model = keras.Sequential(
    [
        keras.Input((20,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=16, epochs=max(1, round(30 * SCALE)), verbose=0)
