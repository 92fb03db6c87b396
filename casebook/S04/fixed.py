import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(4)
scale = float(os.environ.get("CASEBOOK_SCALE", "1"))

rng = np.random.default_rng(4)
store = rng.normal(size=(1024, 32)).astype("float32")
target = rng.normal(size=(1024, 1)).astype("float32")


def read_object(key):
    time.sleep(0.004)  # round trip to the object store
    return store[key]


def load(key):
    row = tf.numpy_function(read_object, [key], tf.float32)
    row.set_shape((32,))
    return row, tf.gather(target, key)


dataset = tf.data.Dataset.range(1024)
dataset = dataset.map(load, num_parallel_calls=16)
dataset = dataset.batch(32)
options = tf.data.Options()
options.threading.private_threadpool_size = 16
dataset = dataset.with_options(options)

model = keras.Sequential(
    [
        keras.Input((32,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(dataset, epochs=max(1, round(10 * scale)), verbose=2)
