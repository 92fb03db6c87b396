"""An examined training that goes on ends with the very same weights as one never examined."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from end_to_end.commands import environment, run

pytestmark = pytest.mark.end_to_end

SCRIPT = """
import os, random, sys, time
import keras, numpy as np

class Rows(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(3)
    def __len__(self):
        return 40
    def __getitem__(self, index):
        x = self.rng.normal(size=(16, 6)).astype("float32")
        return x, x.sum(axis=1, keepdims=True) + np.random.rand() + random.random()

class Steady(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.004)

keras.utils.set_random_seed(1)
model = keras.Sequential([
    keras.Input((6,)), keras.layers.Dense(16, activation="relu"), keras.layers.BatchNormalization(),
    keras.layers.Dropout(0.3), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
x = np.random.rand(640, 6).astype("float32")
y = x.sum(axis=1, keepdims=True)
arrays = dict(x=x, y=y, batch_size=16, validation_batch_size=1)
data = {"arrays": arrays, "pydataset": dict(x=Rows())}[sys.argv[1]]
history = model.fit(**data, epochs=22, verbose=0, callbacks=[Steady()],
                    validation_data=(x[:64], y[:64]))
weights = [keras.ops.convert_to_numpy(v) for v in model.weights + list(model.optimizer.variables)]
np.savez(sys.argv[2], *weights, np.array(history.history["loss"]))
"""


@pytest.mark.parametrize(
    ("backend", "data"),
    [
        ("tensorflow", "pydataset"),
        ("jax", "arrays"),
        ("torch", "pydataset"),
    ],
)
def test_weights_are_bit_identical(backend: str, data: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    plain, examined = tmp_path / "plain.npz", tmp_path / "examined.npz"
    subprocess.run(
        [sys.executable, str(script), data, str(plain)],
        env=environment(backend),
        check=True,
        timeout=200,
        capture_output=True,
    )
    done = subprocess.run(
        [sys.executable, "-m", "fitdoctor", "run", "--continue", "--budget", "3",
         str(script), data, str(examined)],
        cwd=tmp_path,
        env=environment(backend),
        timeout=240,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    made = probes_made(tmp_path)
    assert "frozen_batch" in made, "nothing was examined"
    # Keras on JAX keeps the state out of the variables while it fits.
    assert data != "arrays" or "validation_batches" in made
    with np.load(plain) as before, np.load(examined) as after:
        assert before.files == after.files
        for name in before.files:
            np.testing.assert_array_equal(before[name], after[name], err_msg=name)


def probes_made(folder: Path) -> set[str]:
    """The probes with a result, made in the middle of the training."""
    recording = next((folder / ".fitdoctor").glob("*.rec"))
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    last_step = max(line["t"][-1] for line in lines if line["k"] == "steps")
    return {
        line["name"]
        for line in lines
        if line["k"] == "probe" and line["status"] == "ok" and line["t"] < last_step
    }


def test_a_step_that_cannot_be_undone_is_not_probed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        """
import time
import keras, numpy as np, tensorflow as tf

class Noisy(keras.layers.Layer):
    def call(self, x):
        return x + tf.random.normal(tf.shape(x))

class Steady(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)

model = keras.Sequential([Noisy(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((640, 3)), np.ones((640, 1)), batch_size=8, epochs=6, verbose=0,
          callbacks=[Steady()])
print("went on")
"""
    )
    done = run(script, tmp_path, "--continue", "--budget", "3")
    assert "went on" in done.stdout
    assert "stateful random op" in " ".join(done.stderr.split())
    assert "frozen_batch" not in probes_made(tmp_path)
