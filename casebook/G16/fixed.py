import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(16)
rng = np.random.default_rng(16)
x = rng.normal(size=(6400, 200, 32)).astype("float32")
y = x.mean(axis=(1, 2))[:, None]

model = keras.Sequential(
    [
        keras.Input((200, 32)),
        layers.LSTM(64),
        layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, batch_size=64, epochs=max(1, round(60 * SCALE)), verbose=2)
