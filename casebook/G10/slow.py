import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(10)
rng = np.random.default_rng(10)
images = rng.normal(size=(2048, 32, 32, 3)).astype("float32")
labels = rng.integers(0, 10, size=2048)


def block(x, filters):
    shortcut = layers.Conv2D(filters, 1)(x)
    x = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(x))
    x = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(layers.ReLU()(x)))
    return layers.ReLU()(layers.Add()([shortcut, x]))


inputs = keras.Input((32, 32, 3))
x = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
for filters in (32, 64, 128):
    x = block(block(x, filters), filters)
    x = layers.MaxPooling2D()(x)
outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
model = keras.Model(inputs, outputs)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss)
model.fit(images, labels, batch_size=16, epochs=max(1, round(10 * SCALE)), verbose=2)
