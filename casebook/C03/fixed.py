# Corpus 107 (tensorflow#57645) and 109 (NNPDF): thousands of epochs over a handful of points.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

ROUNDS = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))


def make_model():
    place = keras.Input((1,), name="place")
    time = keras.Input((1,), name="time")
    hidden = layers.Concatenate()([place, time])
    for _ in range(3):
        hidden = layers.Dense(32, activation="tanh")(hidden)
    return keras.Model({"place": place, "time": time}, layers.Dense(1)(hidden))


def observations(rng):
    place, time = rng.uniform(size=(2, 50, 1)).astype("float32")
    heat = np.exp(-time) * np.sin(np.pi * place)
    return tf.data.Dataset.from_tensors(({"place": place, "time": time}, heat))


keras.utils.set_random_seed(3)
model = make_model()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
model.fit(observations(np.random.default_rng(3)).repeat(500), epochs=ROUNDS, verbose=0)
