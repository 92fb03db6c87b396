import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
BATCHES, ROWS = 60, 64


class Photos(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(13)
        self.photos = rng.integers(0, 256, size=(ROWS * BATCHES, 64, 64, 3), dtype="uint8")
        self.labels = rng.integers(0, 10, size=ROWS * BATCHES)
        self.augment = keras.Sequential(
            [
                layers.RandomFlip("horizontal"),
                layers.RandomRotation(0.1),
                layers.RandomZoom(0.2),
                layers.RandomTranslation(0.1, 0.1),
            ]
        )

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        chosen = slice(ROWS * index, ROWS * (index + 1))
        photos = self.photos[chosen].astype("float32") / 255.0
        photos = keras.ops.convert_to_numpy(self.augment(photos, training=True))
        return photos, self.labels[chosen]


def make_model():
    inputs = keras.Input((64, 64, 3))
    x = inputs
    for filters in (64, 128, 128):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, outputs)


keras.utils.set_random_seed(13)
model = make_model()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss)
model.fit(Photos(), epochs=max(1, round(20 * SCALE)), verbose=2)
