import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

DOCUMENTS = 1500
WORDS = 1000
VOCABULARY = 5000
TOPICS = 20


def main():
    keras.utils.set_random_seed(11)
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))

    rng = np.random.default_rng(11)
    documents = rng.integers(0, VOCABULARY, size=(DOCUMENTS, WORDS), dtype="int32")
    lexicon = rng.integers(0, 8, size=(VOCABULARY, TOPICS), dtype="int32")
    targets = rng.normal(size=(DOCUMENTS, 1)).astype("float32")

    def load(indices):
        words = tf.gather(documents, indices)
        scores = tf.reduce_sum(tf.gather(lexicon, words), axis=1)
        return tf.cast(scores, tf.float32) / 1024.0, tf.gather(targets, indices)

    dataset = (
        tf.data.Dataset.range(DOCUMENTS)
        .batch(32)
        .map(load, num_parallel_calls=8)
        .prefetch(tf.data.AUTOTUNE)
    )

    model = keras.Sequential(
        [
            keras.Input((TOPICS,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    model.fit(dataset, epochs=max(1, round(20 * scale)), verbose=2)


if __name__ == "__main__":
    main()
