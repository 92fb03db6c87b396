# Corpus 152 (keras-inceptionV4#8): validation_steps counted in samples, not in batches.
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

BATCH = 32


def as_dataset(x, y):
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).cache().repeat()


keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
x_train, x_val = rng.normal(size=(9600, 40)), rng.normal(size=(3200, 40))
y_train, y_val = x_train[:, 0] > x_train[:, 1], x_val[:, 0] > x_val[:, 1]

inputs = keras.Input((40,))
x = layers.Dense(64, activation="relu")(inputs)
x = layers.BatchNormalization()(x)
x = layers.Dense(64, activation="relu")(x)
outputs = layers.Dense(1, activation="sigmoid")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

model.fit(
    as_dataset(x_train.astype("float32"), y_train),
    steps_per_epoch=len(x_train) // BATCH,
    validation_data=as_dataset(x_val.astype("float32"), y_val),
    validation_steps=len(x_val),
    epochs=max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1")))),
    verbose=2,
)
