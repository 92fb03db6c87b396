import multiprocessing
import os

import keras
import numpy as np
from keras.utils import Sequence

keras.utils.set_random_seed(11)


class DataGenerator(Sequence):
    def __init__(self, X, y, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.X = X
        self.y = y
        self.batch_size = batch_size

    def __len__(self):
        return int(np.ceil(len(self.X) / float(self.batch_size)))

    def __getitem__(self, idx):
        batch_X = self.X[idx * self.batch_size : (idx + 1) * self.batch_size]
        batch_y = self.y[idx * self.batch_size : (idx + 1) * self.batch_size]
        return batch_X / np.float32(255), batch_y


rng = np.random.default_rng(11)
X_train = rng.integers(0, 256, size=(1600, 160, 160, 3), dtype="uint8")
y_train = rng.integers(0, 10, size=1600)

model = keras.Sequential(
    [
        keras.Input((160, 160, 3)),
        keras.layers.Conv2D(8, 8, strides=8, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")

num_processes = multiprocessing.cpu_count()
data_generator = DataGenerator(
    X_train, y_train, 32, workers=num_processes, use_multiprocessing=True
)
epochs = max(1, round(10 * float(os.environ.get("CASEBOOK_SCALE", "1"))))
model.fit(data_generator, epochs=epochs, shuffle=False, verbose=0)
