import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers


def block(x, filters):
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return layers.MaxPooling2D()(x)


def make_model():
    inputs = keras.Input((32, 32, 3))
    x = block(inputs, 16)
    x = block(x, 32)
    x = block(x, 64)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(10)(x))


keras.utils.set_random_seed(101)
rng = np.random.default_rng(101)
images = rng.random((2560, 32, 32, 3), dtype="float32")
labels = rng.integers(0, 10, size=2560)

model = make_model()
model.compile(
    optimizer="adam",
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(images, labels, batch_size=64, epochs=epochs, verbose=2)
