import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers, ops

STEPS = max(1, round(60 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
BATCH = 8
CHANNELS = 12
LONGEST = 128


def read_batches(rng):
    """Recordings of different lengths; the short ones are filled up with zeros."""
    lengths = rng.permutation(np.arange(LONGEST - 60, LONGEST))
    for step in range(STEPS):
        longest = lengths[step % len(lengths)]
        signals = np.zeros((BATCH, longest, CHANNELS), "float32")
        for row in signals:
            row[: rng.integers(longest // 2, longest + 1)] = 1
        signals[0] = 1
        signals *= rng.normal(size=signals.shape)
        signals = pad(signals)
        yield signals, rng.integers(0, 4, size=BATCH)


def pad(signals):
    """Zeros up to one of two lengths, so that only two steps have to be compiled."""
    length = 96 if signals.shape[1] <= 96 else LONGEST
    return np.pad(signals, ((0, 0), (0, length - signals.shape[1]), (0, 0)))


def make_model():
    signals = keras.Input((None, CHANNELS))
    valid = ops.any(ops.not_equal(signals, 0), axis=-1, keepdims=True)
    valid = ops.cast(valid, "float32")
    hidden = signals
    for filters in (32, 64):
        hidden = layers.Conv1D(filters, 5, padding="same", activation="relu")(hidden)
        hidden = hidden * valid
    mean = ops.sum(hidden, axis=1) / ops.sum(valid, axis=1)
    return keras.Model(signals, layers.Dense(4)(mean))


keras.utils.set_random_seed(30)
model = make_model()
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
batches = read_batches(np.random.default_rng(30))
model.fit(batches, steps_per_epoch=STEPS, epochs=1, verbose=2)
