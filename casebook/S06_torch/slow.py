import os

os.environ["KERAS_BACKEND"] = "torch"

import time

import keras
import numpy as np


class RemoteBatches(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size=32, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, i):
        time.sleep(0.03)  # waiting for the storage server
        part = slice(i * self.batch_size, (i + 1) * self.batch_size)
        return self.x[part], self.y[part]


def build():
    inputs = keras.Input((32,))
    h = keras.layers.Dense(64, activation="relu")(inputs)
    h = keras.layers.Dense(64, activation="relu")(h)
    model = keras.Model(inputs, keras.layers.Dense(1)(h))
    model.compile(optimizer="adam", loss="mse")
    return model


def main():
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3200, 32)).astype("float32")
    y = rng.normal(size=(3200, 1)).astype("float32")
    epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
    model = build()
    data = RemoteBatches(x, y, workers=1)
    model.fit(data, epochs=epochs, shuffle=False, verbose=2)


if __name__ == "__main__":
    main()
