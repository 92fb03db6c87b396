import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(39)


def make_model():
    scan = keras.Input((32, 32, 3))
    hidden = scan
    for filters in (32, 64):
        hidden = layers.Conv2D(filters, 3, padding="same", activation="relu")(hidden)
        hidden = layers.MaxPooling2D()(hidden)
    hidden = layers.GlobalAveragePooling2D()(hidden)
    # the probabilities stay in single precision
    finding = layers.Dense(5, activation="softmax", dtype="float32")(hidden)
    return keras.Model(scan, finding)


rng = np.random.default_rng(39)
scans = rng.random((800, 32, 32, 3), dtype="float32")
findings = rng.integers(0, 5, size=800)

model = make_model()
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(scans, findings, batch_size=32, epochs=max(1, round(10 * SCALE)), verbose=2)
