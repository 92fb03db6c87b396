import os
import tempfile

import h5py
import keras
import numpy as np

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
ROWS = 20_000
WIDTH = 256
BATCH = 64
STEPS = 50


class Measurements(keras.utils.PyDataset):
    """Draws batches from a file that need not fit into memory."""

    def __init__(self, path, **kwargs):
        super().__init__(**kwargs)
        self.file = h5py.File(path, "r")
        self.readings = self.file["readings"]
        self.targets = self.file["targets"][:]
        self.rng = np.random.default_rng(7)

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        start = BATCH * self.rng.integers(ROWS // BATCH)
        rows = slice(start, start + BATCH)
        return self.readings[rows], self.targets[rows]


def write_file(path):
    rng = np.random.default_rng(7)
    readings = rng.integers(0, 256, size=(ROWS, WIDTH)).astype("float32") / 256
    targets = readings[:, :1] - readings[:, 1:2]
    with h5py.File(path, "w") as file:
        file.create_dataset("readings", data=readings, chunks=(256, WIDTH), compression="gzip")
        file.create_dataset("targets", data=targets)


keras.utils.set_random_seed(7)
folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "measurements.h5")
write_file(path)

model = keras.Sequential(
    [
        keras.Input((WIDTH,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(Measurements(path, workers=1), epochs=max(1, round(10 * SCALE)), verbose=0)
