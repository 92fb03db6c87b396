"""Small training scripts for proofs; what varies is given by name."""

from __future__ import annotations

from pathlib import Path

TRAIN = """
import os, time
os.environ["KERAS_BACKEND"] = "{backend}"
import keras
import numpy as np

{seed}

class Data(keras.utils.PyDataset):
    def __len__(self):
        return {batches}

    def __getitem__(self, index):
        time.sleep({delay})
        {broken}
        rng = np.random.default_rng({data_seed})
        return rng.normal(size=(4, 3)).astype("float32"), np.ones((4, 1), "float32")

model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD({rate}), "mse", {compile})
model.fit(Data(), epochs={epochs}, verbose=0, shuffle=False)
"""
DEFAULTS = {
    "backend": "jax",
    "seed": "keras.utils.set_random_seed(1)",
    "batches": 25,
    "delay": 0,
    "broken": "",
    "data_seed": "index",
    "rate": 0.01,
    "compile": "",
    "epochs": 1000,
}


def write_script(path: Path, **changes: object) -> str:
    path.write_text(TRAIN.format(**{**DEFAULTS, **changes}))
    return str(path)
