import os

os.environ["KERAS_BACKEND"] = "torch"

import time

import keras
import numpy as np
from keras import layers

STEPS = 20
BATCH = 32


class Batches(keras.utils.PyDataset):
    def __init__(self, images, labels, **kwargs):
        super().__init__(**kwargs)
        self.images, self.labels = images, labels

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        time.sleep(0.03)  # the answer of the label server
        rows = slice(index * BATCH, (index + 1) * BATCH)
        return self.images[rows], self.labels[rows]


def make_model():
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


def main():
    keras.utils.set_random_seed(19)
    rng = np.random.default_rng(19)
    images = rng.random((STEPS * BATCH, 32, 32, 3), dtype="float32")
    labels = rng.integers(0, 10, size=STEPS * BATCH)
    epochs = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    model = make_model()
    data = Batches(images, labels, workers=2)
    model.fit(data, epochs=epochs, shuffle=False, verbose=0)


if __name__ == "__main__":
    main()
