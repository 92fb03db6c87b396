import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
REVIEWS = 8000
WORDS = 300
LENGTH = 200
BUCKETS = 4000

keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
lexicon = np.array([f"Word{number}" + ".,;!  "[number % 6] for number in range(3000)])
texts = [" ".join(words) for words in lexicon[rng.integers(0, 3000, size=(REVIEWS, WORDS))]]
stars = rng.integers(0, 2, size=REVIEWS)


def tokenise(text, label):
    text = tf.strings.lower(text)
    text = tf.strings.regex_replace(text, "[^a-z0-9 ]", "")
    words = tf.strings.split(text)[:LENGTH]
    tokens = tf.strings.to_hash_bucket_fast(words, BUCKETS - 1) + 1
    tokens = tf.pad(tokens, [[0, LENGTH - tf.shape(tokens)[0]]])
    return tf.ensure_shape(tokens, (LENGTH,)), label


reviews = tf.data.Dataset.from_tensor_slices((texts, stars))
reviews = reviews.map(tokenise, num_parallel_calls=tf.data.AUTOTUNE)
reviews = reviews.shuffle(1000, seed=10)
reviews = reviews.batch(64)

model = keras.Sequential(
    [
        keras.Input((LENGTH,), dtype="int64"),
        keras.layers.Embedding(BUCKETS, 8),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(reviews, epochs=max(1, round(20 * SCALE)), verbose=2)
