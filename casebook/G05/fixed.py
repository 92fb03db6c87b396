import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.config.set_dtype_policy("mixed_bfloat16")
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
x = rng.normal(size=(40960, 256)).astype("float32")
y = rng.integers(0, 10, size=40960)

model = keras.Sequential([keras.Input((256,))])
for _ in range(6):
    model.add(layers.Dense(4096, activation="relu"))
model.add(layers.Dense(10, dtype="float32"))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="sgd", loss=loss)
model.fit(x, y, batch_size=4096, epochs=max(1, round(300 * SCALE)), verbose=2)
