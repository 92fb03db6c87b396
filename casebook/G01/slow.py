import os

# The driver was broken in spring.
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["JAX_PLATFORMS"] = "cpu"

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))


def make_model():
    inputs = keras.Input((32, 32, 3))
    x = inputs
    for filters in (64, 128, 256):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    outputs = layers.Dense(10)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    return model


keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
images = rng.normal(size=(6400, 32, 32, 3)).astype("float32")
labels = rng.integers(0, 10, size=6400)
model = make_model()
model.fit(images, labels, batch_size=128, epochs=max(1, round(10 * SCALE)), verbose=2)
