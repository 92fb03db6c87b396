import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np


class Regressor(keras.Model):
    def __init__(self, width=64, depth=4):
        super().__init__()
        self.hidden = [keras.layers.Dense(width, activation="relu") for _ in range(depth)]
        self.head = keras.layers.Dense(1)

    def call(self, inputs):
        for layer in self.hidden:
            inputs = layer(inputs)
        return self.head(inputs)


keras.utils.set_random_seed(25)
rng = np.random.default_rng(25)
x = rng.normal(size=(3200, 16)).astype("float32")
y = rng.normal(size=(3200, 1)).astype("float32")

model = Regressor()
model.compile(optimizer="adam", loss="mse")
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(x, y, batch_size=32, epochs=epochs, verbose=2)
