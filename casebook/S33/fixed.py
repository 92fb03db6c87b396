import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np


class WatchHoldout(keras.callbacks.Callback):
    """Keeps the hold-out loss during the epoch, to draw a fine curve later."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        if batch % 50 == 0:
            self.losses.append(self.model.evaluate(self.x, self.y, verbose=0))


def make_data(rng, rows):
    x = rng.normal(size=(rows, 20)).astype("float32")
    return x, (x[:, :1] * x[:, 1:2] + rng.normal(0, 0.1, (rows, 1))).astype("float32")


keras.utils.set_random_seed(33)
rng = np.random.default_rng(33)
x, y = make_data(rng, 3200)
x_holdout, y_holdout = make_data(rng, 512)

model = keras.Sequential(
    [
        keras.Input((20,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")

watch = WatchHoldout(x_holdout, y_holdout)
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(x, y, batch_size=32, epochs=epochs, callbacks=[watch], verbose=0)
print(len(watch.losses), "points")
