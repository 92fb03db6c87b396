import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.config.set_dtype_policy("mixed_bfloat16")
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
images = rng.normal(size=(4096, 32, 32, 3)).astype("float32")
labels = rng.integers(0, 10, size=4096)


def block(x, filters):
    shortcut = layers.Conv2D(filters, 1)(x)
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(filters, 3, padding="same")(x)
    return layers.ReLU()(layers.Add()([shortcut, x]))


inputs = keras.Input((32, 32, 3))
x = layers.Conv2D(128, 3, padding="same", activation="relu")(inputs)
for filters in (256, 512):
    x = block(block(x, filters), filters)
    x = layers.MaxPooling2D()(x)
outputs = layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="sgd", loss=loss)
model.fit(images, labels, batch_size=1024, epochs=max(1, round(6000 * SCALE)), verbose=2)
