import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers

EPOCHS = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


class Augmented(keras.utils.PyDataset):
    """Mirrors each image at random and adds sensor noise, all in NumPy."""

    def __init__(self, images, labels, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.images, self.labels, self.batch_size = images, labels, batch_size

    def __len__(self):
        return len(self.images) // self.batch_size

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        batch = self.images[rows].copy()
        mirrored = rng.random(len(batch)) < 0.5
        batch[mirrored] = batch[mirrored, :, ::-1]
        batch += rng.uniform(-0.03, 0.03, size=(len(batch), 1, 1, 1)).astype("float32")
        return batch, self.labels[rows]


def residual(x, filters):
    shortcut = x
    x = layers.Conv2D(filters, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.Conv2D(filters, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(layers.Add()([x, shortcut]))


def make_model(blocks):
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same")(inputs)
    for _ in range(blocks):
        x = residual(x, 16)
    x = layers.Conv2D(32, 3, strides=2, padding="same")(x)
    for _ in range(blocks):
        x = residual(x, 32)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10)(x))


keras.utils.set_random_seed(103)
rng = np.random.default_rng(103)
images = rng.random((40 * 32, 32, 32, 3), dtype="float32")
labels = rng.integers(0, 10, size=40 * 32)

model = make_model(blocks=4)
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(Augmented(images, labels, 32, workers=1), epochs=EPOCHS, verbose=2)
