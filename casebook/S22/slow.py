import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

keras.utils.set_random_seed(22)
rng = np.random.default_rng(22)
x_train = rng.normal(size=(32_000, 20)).astype("float32")
y_train = (x_train[:, :3].sum(axis=1, keepdims=True) + rng.normal(size=(32_000, 1))).astype(
    "float32"
)

model = keras.Sequential()
model.add(keras.Input((20,)))
model.add(keras.layers.Dense(64, activation="relu"))
model.add(keras.layers.Dense(64, activation="relu"))
model.add(keras.layers.Dense(1))
model.compile(optimizer="adam", loss="mse")

scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
history = model.fit(x_train, y_train, batch_size=32, epochs=max(1, round(30 * scale)), verbose=2)
print("final loss", history.history["loss"][-1])
