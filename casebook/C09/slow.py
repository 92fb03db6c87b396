# Corpus 159 (tensorflow#24643): histograms of all weights make the training several times longer.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import tempfile

import keras
import numpy as np
from keras import layers


def make_model(columns):
    model = keras.Sequential(name="ranker")
    model.add(keras.Input((columns,)))
    for _ in range(3):
        model.add(layers.Dense(1024, activation="relu"))
    model.add(layers.Dense(1))
    model.compile(optimizer=keras.optimizers.SGD(1e-2, momentum=0.9), loss="mse")
    return model


def train(epochs, log_folder):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(640, 256)).astype("float32")
    y = x[:, :4].sum(axis=1, keepdims=True)
    board = keras.callbacks.TensorBoard(log_folder, histogram_freq=1)
    make_model(256).fit(x, y, batch_size=64, epochs=epochs, callbacks=[board], verbose=0)


if __name__ == "__main__":
    keras.utils.set_random_seed(9)
    with tempfile.TemporaryDirectory() as log_folder:
        train(max(1, round(40 * float(os.environ.get("CASEBOOK_SCALE", "1")))), log_folder)
