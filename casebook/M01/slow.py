import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
patches = rng.normal(size=(2240, 8, 8, 16)).astype("float32")
labels = rng.integers(0, 10, size=2240)

model = keras.Sequential(
    [
        keras.Input((8, 8, 16)),
        layers.Conv2D(256, 1, activation="relu"),
        layers.Conv2D(256, 3, padding="same", activation="relu", name="mixing"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
epochs = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(patches, labels, batch_size=32, epochs=epochs, verbose=2)
