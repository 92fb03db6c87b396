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

    weights_of_word = lexicon.tolist()

    def topic_scores(index):
        scores = [0] * TOPICS
        for word in documents[index].tolist():
            for topic, weight in enumerate(weights_of_word[word]):
                scores[topic] += weight
        return np.array(scores, dtype="float32") / np.float32(1024)

    def load(index):
        scores = tf.numpy_function(topic_scores, [index], tf.float32)
        return tf.ensure_shape(scores, (TOPICS,)), tf.gather(targets, index)

    dataset = (
        tf.data.Dataset.range(DOCUMENTS)
        .map(load, num_parallel_calls=8)
        .batch(32)
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
