import os

import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))

keras.utils.set_random_seed(13)
train_data = np.random.rand(1000, 100).astype("float32")
train_labels = np.random.randint(0, 10, 1000)

model = keras.Sequential(
    [
        keras.Input((100,)),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.001), loss="sparse_categorical_crossentropy")
model.fit(train_data, train_labels, batch_size=100, epochs=max(1, round(50 * SCALE)), verbose=0)
