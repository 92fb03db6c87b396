"""Scripts that fail, stop or never train: one clear line, nothing lost, the right exit code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from end_to_end.commands import environment, run
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.options import RunOptions
from fitdoctor.contract.reader import read_recording
from fitdoctor.contract.records import Machine, Script
from fitdoctor.launch.launcher import command_line, launch
from fitdoctor.launch.recording_files import begin

pytestmark = pytest.mark.end_to_end

TRAINING = """
import os, signal, sys, time
import keras, numpy as np

class Stop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.002)  # the ledger is written twice a second
        if batch == 600:
            {action}

model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8000, 3)), np.ones((8000, 1)), batch_size=8, verbose=0, callbacks=[Stop()])
"""


def words(text: str) -> str:
    """The text without the line breaks that an 80-column screen puts into it."""
    return " ".join(text.split())


def written(folder: Path, text: str) -> Path:
    script = folder / "train.py"
    script.write_text(text)
    return script


def test_a_script_that_never_trains(tmp_path: Path) -> None:
    done = run(written(tmp_path, "print('hello')\n"), tmp_path)
    assert done.stdout == "hello\n"
    assert done.returncode == 2
    assert "no Keras training was seen" in " ".join(done.stderr.split())


def test_a_script_that_raises_in_its_first_step(tmp_path: Path) -> None:
    text = """
import keras, numpy as np
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((8, 3)), np.ones((8, 7, 9)), verbose=0)
"""
    done = run(written(tmp_path, text), tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr  # the script's own, as python would print it
    assert "no Keras training was seen" not in words(done.stderr)  # it did call fit


def test_an_exception_in_the_middle_keeps_what_was_recorded(tmp_path: Path) -> None:
    script = written(tmp_path, TRAINING.format(action="raise RuntimeError('disk full')"))
    done = run(script, tmp_path)
    assert done.returncode == 1
    assert "disk full" in done.stderr
    assert "601 steps" in words(done.stderr)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_death_by_signal_is_reported_and_passed_on(name: str, tmp_path: Path) -> None:
    action = f"os.kill(os.getpid(), signal.{name})"
    done = run(written(tmp_path, TRAINING.format(action=action)), tmp_path)
    assert done.returncode == -getattr(signal, name)
    assert re.search(r"[1-9]\d* steps", words(done.stderr)), done.stderr
    assert subprocess.run(
        [sys.executable, "-m", "fitdoctor", "report"],
        cwd=tmp_path, capture_output=True, check=False,
    ).returncode == 0  # fmt: skip


def test_interrupted_training_is_reported_and_exits_130(tmp_path: Path) -> None:
    text = TRAINING.format(action="print('now', flush=True)").replace("8000", "800000")
    process = subprocess.Popen(
        [sys.executable, "-m", "fitdoctor", "run", str(written(tmp_path, text))],
        cwd=tmp_path,
        env=environment("tensorflow"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A suite started in the background of a shell inherits an ignored SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    os.kill(process.pid, signal.SIGINT)  # only to us: we pass it on to the script
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "steps" in errors


def test_a_script_that_catches_everything_is_ended_all_the_same(tmp_path: Path) -> None:
    text = """
import keras, numpy as np
model = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(1)])
model.compile("sgd", "mse")
for _ in range(1000):
    try:
        model.fit(np.ones((80000, 3)), np.ones((80000, 1)), batch_size=8, verbose=0)
    except BaseException:
        pass
"""
    # As `fitdoctor run` does it, with a shorter grace.
    recording, options = tmp_path / "a.rec", RunOptions(budget_s=4)
    command = command_line(str(written(tmp_path, text)), [], module=False)
    begin(recording, Script(path="train.py"), options, Machine())
    outcome = launch(command, recording=recording, options=options, grace_s=1.0, silent=True)
    assert outcome.overstayed
    (workload,) = read_recording(recording).workloads
    assert workload.found(FrozenBatch) is not None
