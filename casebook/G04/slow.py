import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
x = rng.normal(size=(3200, 100, 32)).astype("float32")
y = x.mean(axis=(1, 2), keepdims=True)[:, :, 0]

model = keras.Sequential(
    [keras.Input((100, 32)), layers.LSTM(256, recurrent_dropout=0.2), layers.Dense(1)]
)
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, batch_size=64, epochs=max(1, round(60 * SCALE)), verbose=2)
