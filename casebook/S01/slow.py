import os

os.environ["KERAS_BACKEND"] = "tensorflow"

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
        self.bank = bank

    def __len__(self):
        return len(self.frames) // BATCH

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        bands = np.array([self.energies(frame) for frame in self.frames[rows]])
        return (bands / 2**20).astype("float32"), self.labels[rows]

    def energies(self, frame):
        samples = frame.tolist()
        out = []
        for band in self.bank:
            out.append(sum(sample * weight for sample, weight in zip(samples, band)))
        return out


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
model.fit(data, epochs=max(1, round(10 * SCALE)), shuffle=False, verbose=2)
