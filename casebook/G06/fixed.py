import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
x = rng.normal(size=(32_000, 64)).astype("float32")
y = x[:, :4].sum(axis=1, keepdims=True)

model = keras.Sequential([keras.Input((64,))])
for _ in range(4):
    model.add(layers.Dense(1024, activation="relu"))
model.add(layers.Dense(1))
model.compile(optimizer="sgd", loss="mse", steps_per_execution=50)
model.fit(x, y, batch_size=32, epochs=max(1, round(10 * SCALE)), verbose=2)
