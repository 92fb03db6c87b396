import os

import keras
import numpy as np
from keras import layers

BATCH = 8
STEPS = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))

keras.utils.set_random_seed(37)
rng = np.random.default_rng(37)
images = rng.random((BATCH * STEPS, 32, 32, 3), dtype="float32")
labels = rng.integers(0, 10, size=len(images))

inputs = keras.Input((32, 32, 3))
x = layers.Conv2D(64, 1, activation="relu")(inputs)
x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
x = layers.GlobalAveragePooling2D()(x)
model = keras.Model(inputs, layers.Dense(10)(x))
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(images, labels, batch_size=BATCH, epochs=1, verbose=2)
