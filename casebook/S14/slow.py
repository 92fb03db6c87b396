import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SCANS = 4000
BATCH = 32
STEPS = 50


def scan(number):
    """Speckle as a laser leaves it on a surface, never twice the same; its size is the class."""
    label = number % 5
    field = tf.random.normal((1, 128, 128, 3))
    speckle = tf.exp(-tf.square(field) / tf.cast(label + 1, tf.float32))
    return tf.nn.avg_pool2d(speckle, 2, 2, "VALID")[0], label


def make_dataset():
    numbers = tf.data.Dataset.from_tensor_slices(np.random.default_rng(14).permutation(SCANS))
    scans = numbers.map(scan, num_parallel_calls=tf.data.AUTOTUNE)
    scans = scans.shuffle(3000)
    return scans.batch(BATCH).take(STEPS)


def make_model():
    model = keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            layers.Conv2D(8, 5, strides=4, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    return model


if __name__ == "__main__":
    keras.utils.set_random_seed(14)
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    make_model().fit(make_dataset(), epochs=max(1, round(10 * scale)), verbose=2)
