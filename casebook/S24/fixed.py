import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf


def measurements(rng, rows):
    """Dose and age against the reading of a blood test."""
    x = rng.uniform(size=(rows, 6)).astype("float32")
    noise = rng.normal(0, 0.05, size=rows)
    return x, (np.sin(3 * x[:, 0]) * x[:, 1] + noise).astype("float32")


keras.utils.set_random_seed(24)
rng = np.random.default_rng(24)
x_train, y_train = measurements(rng, 256)
x_val, y_val = measurements(rng, 64)

inputs = keras.Input((6,))
hidden = keras.layers.Dense(64, activation="tanh")(inputs)
hidden = keras.layers.Dense(64, activation="tanh")(hidden)
model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")

epochs = max(1, round(500 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
history = model.fit(
    tf.data.Dataset.from_tensors((x_train, y_train)).repeat(50),
    validation_data=(x_val, y_val),
    epochs=max(1, epochs // 50),
    verbose=0,
)
print("loss", min(history.history["val_loss"]))
