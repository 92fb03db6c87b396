import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

EXAMPLES = 4000
WIDTH = 32


def serialise(row, label):
    feature = {
        "row": tf.train.Feature(float_list=tf.train.FloatList(value=row)),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def write_records(folder, rows, labels):
    paths = []
    for number in range(EXAMPLES):
        path = str(folder / f"{number:05d}.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            writer.write(serialise(rows[number], labels[number]))
        paths.append(path)
    return paths


def parse(records):
    features = {
        "row": tf.io.FixedLenFeature((WIDTH,), tf.float32),
        "label": tf.io.FixedLenFeature((), tf.int64),
    }
    parsed = tf.io.parse_example(records, features)
    return parsed["row"], parsed["label"]


def train(folder):
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(EXAMPLES, WIDTH)).astype("float32")
    labels = (rows[:, 0] > rows[:, 1]).astype("int64")
    paths = write_records(folder, rows.tolist(), labels.tolist())

    # One epoch is five passes, so that the log stays short.
    dataset = tf.data.TFRecordDataset(paths).batch(100).map(parse).repeat(5)

    model = keras.Sequential(
        [
            keras.Input((WIDTH,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    model.fit(dataset, epochs=max(1, round(20 * scale)), verbose=2)


if __name__ == "__main__":
    keras.utils.set_random_seed(8)
    with tempfile.TemporaryDirectory() as name:
        train(Path(name))
