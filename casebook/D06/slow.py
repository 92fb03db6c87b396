import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers, ops

RETRAININGS = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
LENGTHS = list(range(5, 65, 5))
BATCHES_PER_LENGTH = 200
BATCH = 16


def make_model():
    clicks = keras.Input((None, 6))
    seen = ops.cast(ops.any(ops.not_equal(clicks, 0), axis=-1, keepdims=True), "float32")
    hidden = layers.Dense(16, activation="relu")(clicks) * seen
    model = keras.Model(clicks, layers.Dense(1)(ops.sum(hidden, axis=1) / 60))
    model.compile(optimizer=keras.optimizers.SGD(1e-3), loss="mse")
    return model


class Sessions(keras.utils.PyDataset):
    """Sessions of equal length together in a batch."""

    def __init__(self, rng):
        super().__init__()
        self.batches = []
        for length in LENGTHS:
            clicks = rng.normal(size=(8 * BATCH, length, 6)).astype("float32")
            spent = clicks.mean(axis=(1, 2))[:, None]
            for number in range(BATCHES_PER_LENGTH):
                rows = rng.integers(0, len(clicks), size=BATCH)
                self.batches.append((clicks[rows], spent[rows]))
        rng.shuffle(self.batches)

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


keras.utils.set_random_seed(206)
rng = np.random.default_rng(206)
for day in range(RETRAININGS):
    sessions = Sessions(rng)
    make_model().fit(sessions, epochs=1, shuffle=False, verbose=0)
