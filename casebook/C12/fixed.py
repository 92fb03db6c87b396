# Corpus 41 and 42 (tensorflow#44354): a folder of images, decoded again in every epoch.
import os

import keras
import numpy as np
from keras import layers

IMAGES = 800
SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


def write_photos(folder, rng):
    grain = rng.integers(0, 24, size=(320, 320, 3), dtype="uint8")
    for number in range(IMAGES):
        areas = rng.integers(0, 230, size=(10, 10, 3), dtype="uint8")
        photo = areas.repeat(32, axis=0).repeat(32, axis=1) + np.roll(grain, number, axis=1)
        keras.utils.save_img(os.path.join(folder, f"{number:04d}.jpg"), photo, scale=False)


def make_model():
    photo = keras.Input((64, 64, 3))
    hidden = layers.Rescaling(1 / 255)(photo)
    hidden = layers.Conv2D(8, 5, strides=4, activation="relu")(hidden)
    hidden = layers.Conv2D(16, 3, strides=2, activation="relu")(hidden)
    hidden = layers.GlobalMaxPooling2D()(hidden)
    model = keras.Model(photo, layers.Dense(3, activation="softmax")(hidden))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


def train(folder):
    keras.utils.set_random_seed(12)
    rng = np.random.default_rng(12)
    write_photos(folder, rng)
    photos = keras.utils.image_dataset_from_directory(
        folder,
        labels=rng.integers(0, 3, size=IMAGES).tolist(),
        image_size=(64, 64),
        batch_size=32,
        shuffle=False,
        verbose=False,
    )
    make_model().fit(photos.cache(), epochs=max(1, round(20 * SCALE)), verbose=2)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        train(folder)
