import os

# One core is all this job may use on the shared machine.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
from keras import layers

BATCH = 32


class SmallNet(keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.first = layers.Conv2D(16, 3, activation="relu")
        self.second = layers.Conv2D(32, 3, activation="relu")
        self.pool = layers.MaxPooling2D()
        self.average = layers.GlobalAveragePooling2D()
        self.head = layers.Dense(classes)

    def call(self, images):
        hidden = self.pool(self.first(images))
        hidden = self.pool(self.second(hidden))
        return self.head(self.average(hidden))


keras.utils.set_random_seed(29)
rng = np.random.default_rng(29)
images = rng.random((120 * BATCH, 28, 28, 1), dtype="float32")
labels = rng.integers(0, 10, size=len(images))

model = SmallNet(10)
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(images, labels, batch_size=BATCH, epochs=epochs, verbose=2)
