import os

import keras
import numpy as np
from keras.layers import (
    BatchNormalization,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    Input,
    MaxPooling2D,
)
from keras.models import Sequential
from keras.regularizers import l2

keras.utils.set_random_seed(12)
steps = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
rng = np.random.default_rng(12)
X_train = rng.random((32 * steps, 28, 28, 1), dtype="float32")
y_train = rng.integers(0, 10, size=len(X_train))

# Efficient: Optimized architecture with regularization
model_efficient = Sequential(
    [
        Input((28, 28, 1)),
        Conv2D(64, (3, 3), activation="relu", kernel_regularizer=l2(0.001)),
        BatchNormalization(),
        MaxPooling2D((2, 2)),
        Conv2D(32, (3, 3), activation="relu", kernel_regularizer=l2(0.001)),
        BatchNormalization(),
        MaxPooling2D((2, 2)),
        Flatten(),
        Dropout(0.5),  # Add dropout for regularization
        Dense(10, activation="softmax"),
    ]
)
model_efficient.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model_efficient.fit(X_train, y_train, batch_size=32, verbose=2)
