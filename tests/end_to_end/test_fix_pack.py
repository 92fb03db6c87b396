"""`fitdoctor fix --pack` on a script that reads one record per file: stored once, then read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from end_to_end.commands import environment

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


@pytest.mark.end_to_end
def test_one_record_per_file_is_packed_once_and_read_from_then_on(tmp_path: Path) -> None:
    assert run(tmp_path, "-c", MAKE.format(files=FILES)).returncode == 0
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    before = run(tmp_path, "train.py", "2").stdout

    # Without a folder it is offered, with what it costs, and nothing is made.
    offered = run(tmp_path, "-m", "fitdoctor", "fix", "--select", "IN011", "train.py", "60")
    assert "stores data: the first run writes about" in offered.stdout, offered.stderr[-3000:]
    assert "--pack DEST makes it" in offered.stdout

    done = run(
        tmp_path, "-m", "fitdoctor", "fix", "--select", "IN011", "--pack", "packed", "--apply"
    )
    assert done.returncode == 0, done.stderr[-3000:]
    text = script.read_text()
    assert text == TRAIN.replace(
        "import tensorflow as tf\n", "import tensorflow as tf\nimport fitdoctor\n"
    ).replace(
        "TFRecordDataset(paths).", 'TFRecordDataset(paths).apply(fitdoctor.packed("packed")).'
    )
    assert not (tmp_path / "packed").exists()

    first, second = run(tmp_path, "train.py", "2"), run(tmp_path, "train.py", "2")
    assert first.stdout == second.stdout == before != ""
    assert f"packed {FILES:,} elements" in first.stderr
    assert "packed" not in second.stderr
    assert len(list((tmp_path / "packed").glob("*/manifest.json"))) == 1
    undone = run(tmp_path, "-m", "fitdoctor", "fix", "--undo")
    assert undone.returncode == 0
    assert script.read_text() == TRAIN

    proof = tmp_path / "proof.json"
    command = ["--pack", "packed", "--max-runs", "6", "--window", "2", "--json", str(proof)]
    proven = run(tmp_path, "-m", "fitdoctor", "prove", *command, "train.py", "60")
    assert "storing data: the cured script writes about" in proven.stderr, proven.stderr[-3000:]
    found = json.loads(proof.read_text())
    # On a busy machine nothing may be proven; where runs could be compared, they are the same.
    if found["verdict"] != "invalid":
        assert found["equivalence"]["data_stream"] == "identical", found
        assert found["equivalence"]["learning"] == "bitwise", found
    assert script.read_text() == TRAIN
