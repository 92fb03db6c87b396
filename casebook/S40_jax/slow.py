import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
WORDS = 2000


def read_reviews(rng, number=2400):
    """Reviews as word numbers; most are short, and somebody wrote a novel."""
    lengths = rng.integers(10, 61, size=number)
    lengths[17] = 500
    return [rng.integers(1, WORDS, size=length) for length in lengths]


def make_model():
    words = keras.Input((None,), dtype="int32")
    hidden = layers.Embedding(WORDS, 32, mask_zero=True)(words)
    hidden = layers.GRU(32)(hidden)
    model = keras.Model(words, layers.Dense(1, activation="sigmoid")(hidden))
    model.compile(optimizer="adam", loss="binary_crossentropy")
    return model


keras.utils.set_random_seed(40)
rng = np.random.default_rng(40)
reviews = read_reviews(rng)
stars = rng.integers(0, 2, size=len(reviews)).astype("float32")[:, None]

padded = keras.utils.pad_sequences(reviews, padding="post")
make_model().fit(padded, stars, batch_size=32, epochs=max(1, round(10 * SCALE)), verbose=2)
