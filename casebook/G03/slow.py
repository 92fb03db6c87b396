import os

import keras
import numpy as np
from keras import layers

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
images = rng.integers(0, 256, size=(4096, 128, 128, 3), dtype="uint8")
images = images.astype("float32") / 255
labels = rng.integers(0, 10, size=4096)

model = keras.Sequential(
    [
        keras.Input((128, 128, 3)),
        layers.Conv2D(16, 8, strides=8, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(images, labels, batch_size=256, epochs=max(1, round(20 * SCALE)), verbose=2)
