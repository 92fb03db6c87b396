"""The callback and the cell magic, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, time
import keras, numpy as np
import fitdoctor
from keras.src import callbacks as kc

x = np.zeros((640, 8), "float32")
y = np.zeros((640, 1), "float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(x, y, epochs=3, batch_size=16, verbose=0, callbacks=[fitdoctor.Watch()])
without = kc.CallbackList([keras.callbacks.Callback()], model=model)
seen = kc.CallbackList([fitdoctor.Watch()], model=model)
print("async unchanged", seen._async_train == without._async_train)
print("hooks", [n for n in dir(fitdoctor.Watch) if "batch" in n and n in vars(fitdoctor.Watch)])
"""
CELL = """%%fitdoctor --no-probes
import keras, numpy as np
x = np.zeros((640, 8), "float32"); y = np.zeros((640, 1), "float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(x, y, epochs=3, batch_size=16, verbose=0)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.mark.end_to_end
def test_watch_says_where_the_time_goes_and_keeps_dispatch_asynchronous(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "async unchanged True" in done.stdout
    assert "hooks []" in done.stdout
    assert done.stderr.count("One step of fit (train.py:11)") == 1
    assert "fitdoctor run train.py" in done.stderr
    from fitdoctor.contract.reader import read_recording

    made = [read_recording(path) for path in (tmp_path / ".fitdoctor").glob("*.rec")]
    ((workload,),) = [recording.workloads for recording in made]  # one, for all callbacks
    assert sum(len(block.t) for block in workload.blocks) == 120
    assert workload.calls[0].epochs == 3
    assert not workload.probes


EXAMINED = """
import keras, mlflow, numpy as np, wandb
import fitdoctor

class Slow(keras.utils.PyDataset):
    def __len__(self): return 60
    def __getitem__(self, index):
        x = np.array([[sum(v * v for v in range(6000)) % 7] for _ in range(16)], "float32")
        return x, x

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile(loss="mse")
wandb.init(mode="offline", dir=".")
mlflow.start_run()
# Made in the call: `fit` is looked up before anything is watched.
model.fit(Slow(), epochs=10, verbose=0, callbacks=[
    fitdoctor.Watch(examine=True, tensorboard="logs", wandb=True, mlflow=True)])
print("verdict", wandb.run.summary["fitdoctor/verdict"])
print("data in memory", "fitdoctor/step_with_data_in_memory_ms" in dict(wandb.run.summary))
wandb.finish()
"""


@pytest.mark.end_to_end
def test_watch_examines_if_asked_and_logs_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(EXAMINED)
    tools = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": str(tmp_path / "mlruns")}
    tools |= {"KERAS_BACKEND": "jax", "WANDB_SILENT": "true"}
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path, env={**environment(), **tools},
        capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    # Which verdict it is depends on what else the machine does; that it is the same everywhere
    # does not.
    said, in_memory, *_ = done.stdout.splitlines()
    assert said.startswith("verdict ") and in_memory == "data in memory True"
    # A table after the first epoch, and the whole report once the training was examined.
    assert done.stderr.count("One step of fit (train.py") == 2
    assert done.stderr.count("for causes and what each cure would gain") == 1
    assert "With its data in memory a step takes" in " ".join(done.stderr.split())
    assert list((tmp_path / "logs" / "fitdoctor").glob("events.out.tfevents.*"))
    (verdict,) = (tmp_path / "mlruns").glob("*/*/tags/fitdoctor/verdict")
    assert said == f"verdict {verdict.read_text()}"


@pytest.mark.end_to_end
def test_watch_steps_back_where_the_script_is_recorded_anyway(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "fitdoctor", "run", "-q", "--no-probes", "train.py"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "One step of fit" not in done.stderr
    assert len(list((tmp_path / ".fitdoctor").glob("*.rec"))) == 1


@pytest.mark.end_to_end
def test_a_cell_shows_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    new = nbformat.v4
    cells = ["%load_ext fitdoctor", CELL, "%%fitdoctor\n1 + 1", "%%fitdoctor --wrong\n1"]
    notebook = new.new_notebook(cells=[new.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    shown = [o for o in outputs[1] if o.output_type in ("execute_result", "display_data")]
    assert any("srcdoc=" in o["data"].get("text/html", "") for o in shown)
    assert any("One step of fit" in o["data"]["text/plain"] for o in shown)
    assert any("CPU, cores in use" in o["data"].get("text/html", "") for o in shown)
    assert any("no Keras training" in o.get("text", "") for o in outputs[2])
    assert any("usage:" in o.get("text", "") for o in outputs[3])
