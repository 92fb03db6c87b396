import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

VOCABULARY = 500_000
SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


class QueryClassifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(VOCABULARY, 32)
        self.hidden = layers.Dense(64, activation="relu")
        self.head = layers.Dense(8)

    def call(self, words):
        return self.head(self.hidden(keras.ops.mean(self.embed(words), axis=1)))


def main():
    keras.utils.set_random_seed(36)
    rng = np.random.default_rng(36)
    queries = rng.integers(0, VOCABULARY, size=(6400, 12), dtype="int32")
    topics = rng.integers(0, 8, size=6400)
    data = tf.data.Dataset.from_tensor_slices((queries, topics)).batch(64).repeat()

    model = QueryClassifier()
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.fit(data, steps_per_epoch=max(10, round(400 * SCALE)), epochs=1, verbose=2)


if __name__ == "__main__":
    main()
