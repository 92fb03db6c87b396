import os

os.environ["KERAS_BACKEND"] = "jax"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
x = rng.normal(size=(3200, 64)).astype("float32")
y = x[:, :4].sum(axis=1, keepdims=True)

model = keras.Sequential([keras.Input((64,))])
for _ in range(4):
    model.add(layers.Dense(256, activation="relu"))
model.add(layers.Dense(1))
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, batch_size=32, epochs=max(1, round(20 * SCALE)), verbose=2)
