import os

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(2)
timesteps, features = 30, 8

rng = np.random.default_rng(2)
X_train = rng.normal(size=(1280, timesteps, features)).astype("float32")
y_train = X_train[:, -1, :1].copy()

# Optimized model
model_efficient = tf.keras.Sequential(
    [
        tf.keras.layers.Input((timesteps, features)),
        tf.keras.layers.LSTM(64),
        tf.keras.layers.Dense(1),
    ]
)

model_efficient.compile(optimizer="adam", loss="mse")
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model_efficient.fit(X_train, y_train, epochs=epochs, verbose=2)
