import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
patches = rng.normal(size=(2240, 8, 8, 16)).astype("float32")
labels = rng.integers(0, 10, size=2240)

model = keras.Sequential(
    [
        keras.Input((8, 8, 16)),
        layers.Conv2D(256, 1, activation="relu"),
        layers.Conv2D(128, 3, padding="same", activation="relu", name="mixing"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
steps = max(10, round(600 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
dataset = tf.data.Dataset.from_tensor_slices((patches, labels)).batch(32).cache().repeat()
model.fit(dataset, steps_per_epoch=steps, epochs=1, verbose=2)
