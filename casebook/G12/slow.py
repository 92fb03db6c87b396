import os
import time

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


class Remote(keras.utils.PyDataset):
    """Batches from a store that answers after 20 ms."""

    def __len__(self):
        return 50

    def __getitem__(self, index):
        time.sleep(0.02)
        rng = np.random.default_rng(index)
        return rng.random((32, 64, 64, 3), dtype="float32"), rng.integers(0, 10, size=32)


keras.utils.set_random_seed(12)
inputs = keras.Input((64, 64, 3))
x = inputs
for filters in (32, 64):
    x = layers.MaxPooling2D()(layers.Conv2D(filters, 3, padding="same", activation="relu")(x))
outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss)
model.fit(Remote(), epochs=max(1, round(20 * SCALE)), verbose=2)
