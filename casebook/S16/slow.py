import os

import keras
import numpy as np

SIDE = 272
BATCH = 64


class Patches(keras.utils.PyDataset):
    """Random patches of aerial photographs, as floats between 0 and 1."""

    def __init__(self, photographs, heights, **kwargs):
        super().__init__(**kwargs)
        self.photographs = photographs
        self.heights = heights

    def __len__(self):
        return 6

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        chosen = rng.integers(0, len(self.photographs), size=BATCH)
        patches = np.empty((BATCH, SIDE, SIDE, 3), "float32")
        for place, number in enumerate(chosen):
            top, left = rng.integers(0, 300 - SIDE, size=2)
            patches[place] = self.photographs[number, top : top + SIDE, left : left + SIDE]
        patches /= 255
        return patches, self.heights[chosen]


def make_model():
    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            keras.layers.Conv2D(4, 8, strides=8, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    return model


def main():
    keras.utils.set_random_seed(16)
    rng = np.random.default_rng(16)
    photographs = rng.integers(0, 256, size=(160, 300, 300, 3), dtype="uint8")
    heights = rng.normal(size=(160, 1)).astype("float32")
    data = Patches(photographs, heights, workers=2, use_multiprocessing=True)
    scale = float(os.environ.get("CASEBOOK_SCALE", "1"))
    make_model().fit(data, epochs=max(1, round(10 * scale)), shuffle=False, verbose=0)


if __name__ == "__main__":
    main()
