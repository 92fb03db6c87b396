# Corpus 37 (tensorflow#31616): a window per element, cut anew in every epoch; in a module of its own.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from windows_fixed import make_windows


def load_series(hours=25_000):
    rng = np.random.default_rng(10)
    time = np.arange(hours)
    load = np.sin(time * 2 * np.pi / 24) + rng.normal(0, 0.1, size=hours)
    return load.astype("float32")


def main():
    keras.utils.set_random_seed(10)
    model = keras.Sequential(
        [
            keras.Input((48,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mae")
    epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    model.fit(make_windows(load_series()), epochs=epochs, verbose=2)


if __name__ == "__main__":
    main()
