import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
ROWS = 6400
CHANNELS = 1000
BATCH = 64


def make_lines():
    """CSV text as a spectrometer logs it: counts per channel, the label last."""
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 1024, size=(ROWS, CHANNELS + 1))
    return [",".join(map(str, row)) for row in counts.tolist()]


def parse(lines):
    table = np.loadtxt(lines, delimiter=",", dtype="float32") / 1024
    return table[:, :-1], table[:, -1:]


def make_model():
    model = keras.Sequential(
        [
            keras.Input((CHANNELS,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    return model


keras.utils.set_random_seed(3)
lines = make_lines()
model = make_model()
spectra, labels = parse(lines)
model.fit(
    spectra,
    labels,
    batch_size=BATCH,
    shuffle=False,
    epochs=max(1, round(30 * SCALE)),
    verbose=0,
)
