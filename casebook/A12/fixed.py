import os

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential

keras.utils.set_random_seed(12)
steps = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
rng = np.random.default_rng(12)
X_train = rng.random((32 * steps, 28, 28, 1), dtype="float32")
y_train = rng.integers(0, 10, size=len(X_train))

# Inefficient: Overly deep and wide model
model_inefficient = Sequential(
    [
        Input((28, 28, 1)),
        Conv2D(1024, (3, 3), activation="relu"),
        MaxPooling2D((2, 2)),
        Conv2D(256, (3, 3), activation="relu"),
        MaxPooling2D((2, 2)),
        Flatten(),
        Dense(10, activation="softmax"),
    ]
)
model_inefficient.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model_inefficient.fit(X_train, y_train, batch_size=32, verbose=2)
