"""`fitdoctor fix --pack` on a script that reads one record per file: stored once, then read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from end_to_end.commands import environment
from fitdoctor.contract.options import LearningOptions, RunOptions
from fitdoctor.proof.equivalence import compare
from fitdoctor.proof.learned import Learned, read_learned
from fitdoctor.proof.process import run_side
from fitdoctor.proof.side import Side

FILES = 3000
MAKE = """
import pathlib, numpy as np, tensorflow as tf
chance = np.random.default_rng(0)
pathlib.Path("data").mkdir()
for number in range({files}):
    row = chance.normal(size=32).astype("float32")
    with tf.io.TFRecordWriter(f"data/{{number:05d}}.tfrecord") as writer:
        writer.write(row.tobytes())
"""
TRAIN = """\
import glob, sys
import keras
import tensorflow as tf

keras.utils.set_random_seed(1)
paths = sorted(glob.glob("data/*.tfrecord"))


def parse(records):
    rows = tf.reshape(tf.io.decode_raw(records, tf.float32), (-1, 32))
    return rows, rows[:, :1]


dataset = tf.data.TFRecordDataset(paths).batch(100).map(parse).repeat(4)
model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("sgd", "mse")
history = model.fit(dataset, epochs=int(sys.argv[1]), verbose=0)
print(repr(history.history["loss"][-1]))
"""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment("tensorflow"),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def learned(script: Path, name: str) -> Learned:
    """What a script trains on, and what it learns from it, to its own end."""
    folder = script.parent
    weights = folder / f"{name}.npz"
    options = RunOptions(probes=False, learning=LearningOptions(10**6, 300, str(weights), seed=1))
    run = run_side(Side(name, str(script), ("1",)), folder, options=options, limit_s=60)
    assert not run.failed, run.error
    return read_learned(run.path, weights, run.recording)


@pytest.mark.end_to_end
@pytest.mark.measures
def test_one_record_per_file_is_packed_once_and_read_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path, "-c", MAKE.format(files=FILES)).returncode == 0
    script, before = tmp_path / "train.py", tmp_path / "before.py"
    for path in (script, before):
        path.write_text(TRAIN)

    # Without a folder it is offered, with what it costs, and nothing is made.
    wanted = ("-m", "fitdoctor", "fix", "--select", "IN011")
    offered = run(tmp_path, *wanted, "--budget", "10", "train.py", "60")
    assert "stores data: the first run writes about" in offered.stdout, offered.stderr[-3000:]
    assert "--pack DEST makes it" in offered.stdout

    done = run(tmp_path, *wanted, "--pack", "packed", "--apply")
    assert done.returncode == 0, done.stderr[-3000:]
    assert script.read_text() == TRAIN.replace("as tf\n", "as tf\nimport fitdoctor\n").replace(
        "TFRecordDataset(paths).", 'TFRecordDataset(paths).apply(fitdoctor.packed("packed")).'
    )
    assert not (tmp_path / "packed").exists()

    first = run(tmp_path, "train.py", "1")
    assert f"packed {FILES:,} elements" in first.stderr
    found = compare(learned(before, "A"), learned(script, "B"), "safe")
    assert (found.data_stream, found.learning) == ("identical", "bitwise")
    assert len(list((tmp_path / "packed").glob("*/manifest.json"))) == 1

    assert run(tmp_path, "-m", "fitdoctor", "fix", "--undo").returncode == 0
    assert script.read_text() == TRAIN
    (recording,) = (tmp_path / ".fitdoctor").glob("*.rec")
    # What is proven is another test's: here one look is enough.
    quick = ("--no-check", "--max-runs", "6", "--steps", "20", "--budget", "1")
    command = ("--pack", "proven", "--from", str(recording), *quick, "train.py", "60")
    proven = run(tmp_path, "-m", "fitdoctor", "prove", *command)
    assert "storing data: the cured script writes about" in proven.stderr, proven.stderr[-3000:]
    assert "IN011 scattered-reads" in proven.stdout
    assert len(list((tmp_path / "proven").glob("*/manifest.json"))) == 1
    assert script.read_text() == TRAIN
