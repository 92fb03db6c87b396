"""A small network on photographs that are decoded again in every epoch."""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import tensorflow as tf

PHOTOS = 400
DIFFERENT = 40  # the others repeat them: this script is about reading photos, not about taking them
SIDE = 384


def photos(count: int) -> list[bytes]:
    """JPEG files as a camera writes them: areas of colour, some grain."""
    rng = np.random.default_rng(1)
    grain = rng.integers(0, 24, size=(SIDE, SIDE, 3), dtype="uint8")
    files = []
    for number in range(count):
        areas = rng.integers(0, 230, size=(12, 12, 3), dtype="uint8")
        areas = areas.repeat(SIDE // 12, axis=0).repeat(SIDE // 12, axis=1)
        files.append(tf.io.encode_jpeg(areas + np.roll(grain, 5 * number, axis=0)).numpy())
    return files


def load(data: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image = tf.io.decode_jpeg(data, channels=3)
    return tf.image.resize(image, (64, 64)) / 255.0, label


keras.utils.set_random_seed(1)
labels = np.random.default_rng(2).integers(0, 4, size=PHOTOS)
dataset = (
    tf.data.Dataset.from_tensor_slices((photos(DIFFERENT) * (PHOTOS // DIFFERENT), labels))
    .map(load, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(20)
    .prefetch(tf.data.AUTOTUNE)
)
model = keras.Sequential(
    [
        keras.Input((64, 64, 3)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(dataset, epochs=60, verbose=0)
