import os

os.environ["KERAS_BACKEND"] = "tensorflow"

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


def batches(lines):
    while True:
        for start in range(0, ROWS, BATCH):
            spectra, labels = [], []
            for line in lines[start : start + BATCH]:
                values = [float(field) for field in line.strip().split(",")]
                spectra.append(values[:-1])
                labels.append(values[-1:])
            yield np.array(spectra, "float32") / 1024, np.array(labels, "float32") / 1024


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
model.fit(
    batches(lines),
    steps_per_epoch=ROWS // BATCH,
    epochs=max(1, round(30 * SCALE)),
    verbose=0,
)
