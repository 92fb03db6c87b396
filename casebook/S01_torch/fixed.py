import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

keras.utils.set_random_seed(7)

SCALE = float(os.environ.get("CASEBOOK_SCALE", "1"))
FRAME = 120
BANDS = 100
BATCH = 32


class FilterbankFrames(keras.utils.PyDataset):
    """Audio frames turned into band energies with a fixed-point filterbank."""

    def __init__(self, frames, labels, bank, **kwargs):
        super().__init__(**kwargs)
        self.frames = frames
        self.labels = labels
        # Integers below 2**53 add up exactly in float64, and float64 has a BLAS product.
        self.bank = np.array(bank, dtype="float64").T

    def __len__(self):
        return len(self.frames) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        bands = self.frames[rows] @ self.bank
        return (bands / 2**20).astype("float32"), self.labels[rows]


rng = np.random.default_rng(7)
frames = rng.integers(-128, 128, size=(300 * BATCH, FRAME))
labels = rng.normal(size=(300 * BATCH, 1)).astype("float32")
bank = rng.integers(0, 256, size=(BANDS, FRAME)).tolist()

model = keras.Sequential(
    [
        keras.Input((BANDS,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")

data = FilterbankFrames(frames, labels, bank, workers=1)
model.fit(data, epochs=max(1, round(10 * SCALE)), shuffle=False, verbose=0)
