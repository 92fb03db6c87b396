import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
BATCHES = 50


class Images(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(11)
        self.images = rng.integers(0, 256, size=(64 * BATCHES, 32, 32, 3), dtype="uint8")
        self.labels = rng.integers(0, 10, size=64 * BATCHES)

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        chosen = slice(64 * index, 64 * index + 64)
        images = self.images[chosen].astype("float32") / 255.0
        return images, self.labels[chosen]


keras.utils.set_random_seed(11)
inputs = keras.Input((32, 32, 3))
x = inputs
for filters in (64, 128):
    x = layers.MaxPooling2D()(layers.Conv2D(filters, 3, padding="same", activation="relu")(x))
outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss)
model.fit(Images(), epochs=max(1, round(20 * SCALE)), verbose=2)
