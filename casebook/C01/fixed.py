# Corpus 2 (keras#2394): turning, shifting and zooming the images makes an epoch ten times longer.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import argparse

import keras
import numpy as np
from keras import layers
from scipy import ndimage

SIDE = 48


class Augmented(keras.utils.PyDataset):
    """Each image a little turned, shifted and enlarged, anew in every epoch."""

    def __init__(self, images, labels, batch_size):
        super().__init__()
        self.images, self.labels = images, labels
        self.batch_size = batch_size
        self.rng = np.random.default_rng(1)

    def __len__(self):
        return len(self.images) // self.batch_size

    def __getitem__(self, index):
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        batch = np.stack([self.augment(image) for image in self.images[rows]])
        return batch[..., None], self.labels[rows]

    def augment(self, image):
        angle = self.rng.uniform(-15, 15)
        down, right = self.rng.uniform(-4, 4, size=2)
        larger = self.rng.uniform(1.0, 1.2)
        # One warp instead of three: from a place in the result to one in the image.
        turn = np.deg2rad(angle)
        matrix = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) / larger
        centre = np.full(2, (SIDE - 1) / 2)
        offset = centre - matrix @ (centre + (down, right))
        return ndimage.affine_transform(image, matrix, offset, mode="nearest")


def make_model():
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(8, 5, strides=2, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()

    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(2)
    images = rng.random((1920, SIDE, SIDE), dtype="float32")
    labels = rng.integers(0, 5, size=1920)
    epochs = max(1, round(options.epochs * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    data = Augmented(images, labels, options.batch_size)
    make_model().fit(data, epochs=epochs, shuffle=False, verbose=2)


if __name__ == "__main__":
    main()
