import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import time

import keras
import numpy as np
import tensorflow as tf

ROWS = 1024
FEATURES = 24


class RemoteTable:
    """House prices behind a web service that answers one row per request."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.features = rng.normal(size=(ROWS, FEATURES)).astype("float32")
        self.prices = rng.normal(size=(ROWS, 1)).astype("float32")

    def fetch(self, key):
        time.sleep(0.004)  # one request
        return self.features[key], self.prices[key]


def make_dataset(table):
    def load(key):
        features, price = tf.numpy_function(table.fetch, [key], [tf.float32, tf.float32])
        return tf.ensure_shape(features, (FEATURES,)), tf.ensure_shape(price, (1,))

    dataset = tf.data.Dataset.range(ROWS).map(load, num_parallel_calls=64)
    return dataset.batch(32)


def make_model():
    inputs = keras.Input((FEATURES,))
    hidden = keras.layers.Dense(64, activation="relu")(inputs)
    hidden = keras.layers.Dense(64, activation="relu")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(optimizer="adam", loss="mse")
    return model


def main():
    keras.utils.set_random_seed(5)
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    model = make_model()
    model.fit(make_dataset(RemoteTable(seed=5)), epochs=max(1, round(10 * scale)), verbose=0)


if __name__ == "__main__":
    main()
