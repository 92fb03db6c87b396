"""A training script with a fault that is easy to write and hard to see.

Each sample is made by a Python loop in `__getitem__`, so training waits for one core.
"""

import keras
import numpy as np

BATCH = 32


class Signals(keras.utils.PyDataset):
    """Features of noisy signals, computed sample by sample."""

    def __init__(self, count: int) -> None:
        super().__init__()
        source = np.random.default_rng(0)
        self.signals = source.normal(size=(count, 400)).astype("float32")
        self.targets = source.normal(size=(count, 1)).astype("float32")

    def __len__(self) -> int:
        return len(self.signals) // BATCH

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(index * BATCH, (index + 1) * BATCH)
        features = np.array([self.features(signal) for signal in self.signals[rows]])
        return features, self.targets[rows]

    def features(self, signal: np.ndarray) -> np.ndarray:
        energy = crossings = 0.0
        previous = 0.0
        for value in signal.tolist():
            for _ in range(6):
                energy += value * value
            crossings += (value > 0) != (previous > 0)
            previous = value
        return np.array([energy / 6, crossings, max(signal), min(signal)], dtype="float32")


def main() -> None:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    model.fit(Signals(6400), epochs=20, verbose=2)


if __name__ == "__main__":
    main()
