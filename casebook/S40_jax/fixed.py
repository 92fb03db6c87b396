import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
import tensorflow as tf
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

lengths = np.array([len(review) for review in reviews])
padded = keras.utils.pad_sequences(reviews, padding="post")
data = (
    tf.data.Dataset.from_tensor_slices((padded, lengths, stars))
    .map(lambda words, length, star: (words[:length], star))
    .bucket_by_sequence_length(
        lambda words, star: tf.size(words),
        bucket_boundaries=[65, 501],
        bucket_batch_sizes=[32, 32, 32],
        pad_to_bucket_boundary=True,
    )
    .cache()
)
make_model().fit(data, epochs=max(1, round(10 * SCALE)), verbose=2)
