import os

import keras
import numpy as np
from keras.utils import Sequence

keras.utils.set_random_seed(10)


def preprocess_image(img):
    """Half the size and values between 0 and 1."""
    rows = img.tolist()
    small = []
    for upper, lower in zip(rows[::2], rows[1::2]):
        line = []
        for column in range(0, len(upper), 2):
            total = upper[column] + upper[column + 1] + lower[column] + lower[column + 1]
            line.append(total / 1020)
        small.append(line)
    return np.array(small, dtype="float32")


class DataGenerator(Sequence):
    def __init__(self, X, y, batch_size):
        super().__init__()
        self.X = X
        self.y = y
        self.batch_size = batch_size

    def __len__(self):
        return int(np.ceil(len(self.X) / float(self.batch_size)))

    def __getitem__(self, idx):
        batch_X = self.X[idx * self.batch_size : (idx + 1) * self.batch_size]
        batch_y = self.y[idx * self.batch_size : (idx + 1) * self.batch_size]

        preprocessed_batch_X = [preprocess_image(img) for img in batch_X]
        return np.array(preprocessed_batch_X), np.array(batch_y)


rng = np.random.default_rng(10)
X_train = rng.integers(0, 256, size=(3200, 48, 48), dtype="uint8")
y_train = rng.integers(0, 10, size=3200)

model = keras.Sequential(
    [
        keras.Input((24, 24)),
        keras.layers.Flatten(),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")

epochs = max(1, round(20 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(DataGenerator(X_train, y_train, 32), epochs=epochs, shuffle=False, verbose=0)
