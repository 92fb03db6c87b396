import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import argparse
import tempfile

import keras
import numpy as np
from keras import layers


def make_data(rng, rows):
    x = rng.normal(size=(rows, 512)).astype("float32")
    return x, np.tanh(x[:, :1] * 2)


def make_model():
    model = keras.Sequential(
        [
            keras.Input((512,)),
            layers.Dense(1024, activation="relu"),
            layers.Dense(1024, activation="relu"),
            layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    keras.utils.set_random_seed(207)
    rng = np.random.default_rng(207)
    x, y = make_data(rng, 20 * 64)
    folder = tempfile.TemporaryDirectory()
    checkpoint = keras.callbacks.ModelCheckpoint(f"{folder.name}/model.keras", save_freq=1)
    make_model().fit(
        x,
        y,
        batch_size=64,
        epochs=max(1, round(options.epochs * float(os.environ.get("CASEBOOK_SCALE", "1")))),
        validation_data=make_data(rng, 800),
        validation_batch_size=1,
        callbacks=[checkpoint],
        verbose=0,
    )


if __name__ == "__main__":
    main()
