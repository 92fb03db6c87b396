"""Calls of a real script changed on their way into Keras, tf.data and torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fitdoctor.contract.changed_calls import ChangedCall, Seam
from fitdoctor.contract.options import RunOptions
from fitdoctor.proof.process import run_side
from fitdoctor.proof.side import Side

pytestmark = pytest.mark.end_to_end

SCRIPT = """
import os, json, sys
os.environ["KERAS_BACKEND"] = {backend!r}
import keras
import numpy as np

class Rows(keras.utils.PyDataset):
    def __init__(self, size, **options):
        super().__init__(**options)
        self.size = size
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return np.ones((self.size, 3), "float32"), np.ones((self.size, 1), "float32")

model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
settings = {{"jit_compile": True, "run_eagerly": False}}
model.compile("sgd", "mse", **settings)  # compile
rows = Rows(8, workers=int("1"))  # rows
history = model.fit(rows, epochs=2, verbose=0)  # fit
model.predict(np.ones((2, 3)), **dict(verbose=0))  # predict
seen = {{"jit": model.jit_compile, "spe": model.steps_per_execution, "workers": rows.workers,
        "epochs": len(history.epoch), "shape": model.inputs[0].shape[1]}}
{more}
open("seen.json", "w").write(json.dumps(seen))
"""
TF_DATA = """
import tensorflow as tf
options = {"num_parallel_calls": None}
data = tf.data.Dataset.range(4).map(lambda x: x + 1, **options)  # map
seen["cached"] = "Cache" in type(data._inputs()[0] if hasattr(data, "_inputs") else data).__name__
seen["pool"] = data.options().threading.private_threadpool_size
seen["values"] = [int(x) for x in data]
"""
LOADER = """
from torch.utils.data import DataLoader
loader = DataLoader(list(range(8)), 2, num_workers=int("0"))  # loader
seen["num_workers"] = loader.num_workers
"""


def line_of(text: str, mark: str) -> int:
    return 1 + next(n for n, line in enumerate(text.splitlines()) if line.endswith(f"# {mark}"))


@pytest.mark.parametrize(
    ("backend", "more"), [("tensorflow", TF_DATA), ("jax", ""), ("torch", LOADER)]
)
def test_calls_are_changed_and_nothing_else(
    tmp_path: Path, backend: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SCRIPT.format(backend=backend, more=more)
    script = tmp_path / "train.py"
    script.write_text(text)
    monkeypatch.chdir(tmp_path)

    def change(mark: str, seam: Seam, call: str, **what: Any) -> ChangedCall:
        return ChangedCall(str(script), line_of(text, mark), seam, call, **what)

    together = {} if backend == "torch" else {"steps_per_execution": 2}
    calls = [
        change("compile", "model", "compile", set={"jit_compile": False, **together}),
        change("rows", "py_dataset", "PyDataset", set={"workers": 2}),
        change("fit", "model", "fit", set={"epochs": 3}),
        change("predict", "model", "predict", instead="predict_on_batch", takes=("x",),
               ignores=("verbose",)),
    ]  # fmt: skip
    if more == TF_DATA:
        pool = {"threading.private_threadpool_size": 3}
        calls.append(change("map", "dataset", "map", cache=True, options=pool))
    if more == LOADER:
        calls.append(change("loader", "loader", "DataLoader", set={"num_workers": 1}))
    side = Side("B", str(script), sources={}, calls=tuple(calls))
    options = RunOptions(probes=False, keep_running=True)
    run = run_side(side, tmp_path, options=options, limit_s=100)
    assert run.exit_code == 0, run.error
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["jit"], seen["workers"], seen["epochs"]) == (False, 2, 3)
    assert seen["spe"] == together.get("steps_per_execution", 1)
    kinds = [workload.kind for workload in run.recording.workloads]
    assert kinds[:2] == ["fit", "predict_on_batch"]
    if more == TF_DATA:
        assert (seen["cached"], seen["pool"], seen["values"]) == (True, 3, [1, 2, 3, 4])
    if more == LOADER:
        assert seen["num_workers"] == 1
