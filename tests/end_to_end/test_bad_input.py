"""Data that raises, hangs, comes ragged or empty, never ends, or may be read only once."""

from __future__ import annotations

from pathlib import Path

import pytest

from end_to_end.commands import diagnose, run

pytestmark = pytest.mark.end_to_end

MODEL = """
import threading, time
import keras, numpy as np

model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""

PY_DATASET = """
class Data(keras.utils.PyDataset):
    def __init__(self, **more):
        super().__init__(**more)
        self.calls = 0

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        self.calls += 1
        {body}
        return np.ones((8, 3), "float32"), np.ones((8, 1), "float32")

model.fit(Data(), shuffle=False, verbose=0)
"""


def written(folder: Path, text: str) -> Path:
    script = folder / "train.py"
    script.write_text(MODEL + text)
    return script


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_loader_that_raises_in_the_middle(tmp_path: Path) -> None:
    body = "time.sleep(0.002)\n        if self.calls > 900: raise OSError('row 900 is damaged')"
    done = run(written(tmp_path, PY_DATASET.format(body=body)), tmp_path)
    assert done.returncode == 1
    assert "row 900 is damaged" in done.stderr
    assert "Your script failed" in words(done.stderr)
    assert "Internal" not in done.stderr


def test_a_loader_that_refuses_to_be_read_again(tmp_path: Path) -> None:
    body = (
        "time.sleep(0.02)\n"
        "        if index < getattr(self, 'last', -1): raise RuntimeError('forward only')\n"
        "        self.last = index"
    )
    script = written(tmp_path, PY_DATASET.format(body=body))
    report = diagnose(script, tmp_path, "--budget", "10", backend="torch")
    (workload,) = report["workloads"]
    assert workload["steps"] > 100
    # What could not be measured is said, with the loader's own words.
    assert any("forward only" in reason for reason in workload["not_measured"])


def test_ragged_batches(tmp_path: Path) -> None:
    text = """
def batches():
    rng = np.random.default_rng(0)
    while True:
        rows = int(rng.integers(1, 9))
        time.sleep(0.005)
        yield np.ones((rows, 3), "float32"), np.ones((rows, 1), "float32")

model.fit(batches(), steps_per_epoch=100000, verbose=0)
"""
    report = diagnose(written(tmp_path, text), tmp_path, "--budget", "10", backend="torch")
    (workload,) = report["workloads"]
    assert workload["verdict"] != "not-judged", workload
    assert workload["steps"] > 100


def test_a_generator_without_an_end_and_without_steps_per_epoch(tmp_path: Path) -> None:
    text = """
def batches():
    while True:
        time.sleep(0.01)
        yield np.ones((8, 3), "float32"), np.ones((8, 1), "float32")

model.fit(batches(), verbose=0)
"""
    report = diagnose(written(tmp_path, text), tmp_path, "--budget", "12")
    (workload,) = report["workloads"]
    assert workload["findings"][0]["rule"] == "IN002"
    assert any("only once" in reason for reason in workload["not_measured"])


def test_a_generator_object_behind_a_dataset_is_not_consumed(tmp_path: Path) -> None:
    text = """
import tensorflow as tf
seen = []
def batches():
    for number in range(3000):
        seen.append(number)
        time.sleep(0.005)
        yield np.full((8, 3), number, "float32"), np.ones((8, 1), "float32")

once = batches()
spec = (tf.TensorSpec((8, 3)), tf.TensorSpec((8, 1)))
data = tf.data.Dataset.from_generator(lambda: once, output_signature=spec)
history = model.fit(data, verbose=0)
print("read", len(seen), "trained", int(model.optimizer.iterations.numpy()))
"""
    done = run(written(tmp_path, text), tmp_path, "--continue", timeout=300)
    read, trained = (int(word) for word in done.stdout.split()[1::2])
    assert read == 3000
    assert trained >= 3000
    assert "only once" in words(done.stderr)
