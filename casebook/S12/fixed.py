import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np

keras.utils.set_random_seed(12)
EPOCHS = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))

rng = np.random.default_rng(12)
sensors = rng.normal(size=(12_000, 16)).astype("float32")
failures = (sensors[:, :1] * sensors[:, 1:2] > 0).astype("float32")

model = keras.Sequential(
    [
        keras.Input((16,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(sensors, failures, batch_size=32, shuffle=False, epochs=EPOCHS, verbose=2)
