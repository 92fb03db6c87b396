import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
CLASSES = ("oak", "beech", "pine")


def write_images(root):
    rng = np.random.default_rng(13)
    for name in CLASSES:
        (root / name).mkdir()
        for number in range(100):
            pixels = rng.integers(0, 256, size=(300, 300, 3), dtype="uint8")
            tf.io.write_file(str(root / name / f"{number}.jpg"), tf.io.encode_jpeg(pixels))


def make_model():
    model = keras.Sequential(
        [
            keras.Input((96, 96, 3)),
            keras.layers.Conv2D(8, 3, strides=4, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(len(CLASSES), activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


keras.utils.set_random_seed(13)
with tempfile.TemporaryDirectory() as name:
    leaves = pathlib.Path(name)
    write_images(leaves)
    train = keras.utils.image_dataset_from_directory(
        leaves, image_size=(96, 96), batch_size=32, seed=13, verbose=False
    )
    train = train.map(lambda image, label: (image / 255.0, label)).cache()
    train = train.prefetch(tf.data.AUTOTUNE)
    model = make_model()
    model.fit(train, epochs=max(1, round(40 * SCALE)), verbose=2)
