import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

IMAGES = 384
SIDE = 320


class Bucket:
    """JPEG files in an object store."""

    def __init__(self, rng):
        grain = rng.integers(0, 24, size=(SIDE, SIDE, 3), dtype="uint8")
        self.files = []
        for number in range(IMAGES):
            areas = rng.integers(0, 230, size=(10, 10, 3), dtype="uint8")
            areas = areas.repeat(SIDE // 10, axis=0).repeat(SIDE // 10, axis=1)
            image = areas + np.roll(grain, 3 * number, axis=1)
            self.files.append(tf.io.encode_jpeg(image).numpy())

    def get(self, key):
        time.sleep(0.004)  # one request
        return self.files[key]


def make_dataset(bucket, labels):
    def read(key, label):
        return tf.numpy_function(bucket.get, [key], tf.string), label

    def decode(data, label):
        image = tf.io.decode_jpeg(tf.ensure_shape(data, ()), channels=3)
        return tf.image.resize(image, (96, 96)) / 255.0, label

    keys = tf.data.Dataset.from_tensor_slices((np.arange(IMAGES), labels))
    files = keys.map(read)
    images = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    return images.batch(32)


def make_model():
    model = keras.Sequential(
        [
            keras.Input((96, 96, 3)),
            layers.Conv2D(8, 5, strides=4, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


if __name__ == "__main__":
    keras.utils.set_random_seed(203)
    rng = np.random.default_rng(203)
    dataset = make_dataset(Bucket(rng), rng.integers(0, 4, size=IMAGES))
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    make_model().fit(dataset, epochs=max(1, round(10 * scale)), verbose=2)
