import os

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
BATCH = 512

keras.config.set_dtype_policy("mixed_bfloat16")
keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
photos = rng.integers(0, 256, size=(8192, 32, 32, 3), dtype="uint8")
labels = rng.integers(0, 10, size=8192)
device = "/GPU:0" if tf.config.list_physical_devices("GPU") else "/CPU:0"
batches = (
    tf.data.Dataset.from_tensor_slices((photos, labels))
    .cache()
    .shuffle(8192)
    .batch(BATCH, drop_remainder=True)
    .apply(tf.data.experimental.prefetch_to_device(device, 4))
)

inputs = keras.Input((32, 32, 3), dtype="uint8")
x = layers.Rescaling(1 / 255)(inputs)
for filters in (128, 256, 512):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D()(x)
outputs = layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="sgd", loss=loss)
model.fit(batches, epochs=max(1, round(2000 * SCALE)), verbose=2)
