"""tf.data service with its processes on this machine: the same elements, each once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from packs import SOURCE

pytest.importorskip("tensorflow")
SERVED = 2000


@dataclass
class Service:
    """A dispatcher and its workers as real processes."""

    port: str = ""
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"grpc://localhost:{self.port}"

    def dispatch(self) -> None:
        self.port = self._start("dispatcher", "dispatcher")

    def work(self, name: str, port: str = "0") -> str:
        """Start a worker; the port that it serves."""
        more = ("--dispatcher", f"localhost:{self.port}", "--port", port)
        return self._start(name, "worker", *more)

    def _start(self, name: str, *args: str) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "fitdoctor.pack.service", *args],
            env={**os.environ, "PYTHONPATH": SOURCE, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.processes[name] = process
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    try:
        made.dispatch()
        yield made
    finally:
        made.close()


def _served(address: str, **more: Any) -> Any:
    import tensorflow as tf

    service = tf.data.experimental.service
    return tf.data.Dataset.range(SERVED).apply(
        service.distribute(
            processing_mode=service.ShardingPolicy.DYNAMIC,
            service=address,
            max_outstanding_requests=2,
            **more,
        )
    )


@pytest.mark.end_to_end
def test_served_elements_are_the_same_multiset(service: Service) -> None:
    for name in ("one", "two"):
        service.work(name)
    found = Counter(int(value) for value in _served(service.address).as_numpy_iterator())
    assert found == Counter(range(SERVED))


@pytest.mark.end_to_end
def test_a_worker_that_dies_and_comes_back_on_its_port_loses_at_most_what_it_held(
    service: Service,
) -> None:
    port = service.work("one")
    service.work("two")
    found: Counter[int] = Counter()
    for value in _served(service.address).as_numpy_iterator():
        found[int(value)] += 1
        if found.total() == SERVED // 10:
            service.kill("one")
            service.work("one again", port)
    assert max(found.values()) == 1
    assert set(found) <= set(range(SERVED))
    assert found.total() >= SERVED // 10


# -- a training whose input waits, moved onto the service ----------------------------------

TRAIN = """\
import keras
import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing  # stands for a slow disk

keras.utils.set_random_seed(1)


def parse(number):
    row = tf.cast(tf.range(8, dtype=tf.int64) + number, tf.float32) / 1000.0
    return row, row[:1]


data = tf.data.Dataset.range(640).map(parse).apply(testing.sleep(500))
data = data.batch(16).prefetch(2)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data, epochs=EPOCHS, verbose=0)
"""


def _fitdoctor(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fitdoctor", *args],
        cwd=folder,
        env={**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.end_to_end
def test_a_waiting_pipeline_is_moved_onto_two_workers(service: Service, tmp_path: Path) -> None:
    from fitdoctor.contract.options import LearningOptions, RunOptions
    from fitdoctor.proof.equivalence import compare
    from fitdoctor.proof.learned import read_learned
    from fitdoctor.proof.process import run_side
    from fitdoctor.proof.side import Side

    script, before = tmp_path / "train.py", tmp_path / "before.py"
    script.write_text(TRAIN.replace("EPOCHS", "60"))
    before.write_text(TRAIN.replace("EPOCHS", "2"))
    for name in ("one", "two"):
        service.work(name)

    done = _fitdoctor(tmp_path, "scale", "--service", service.address, "--apply", "train.py")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "cores" in done.stdout
    text = script.read_text()
    assert f'service="{service.address}")).rebatch(16).prefetch(2)' in text

    script.write_text(text.replace("epochs=60", "epochs=2"))
    learned = []
    for side in (Side("A", str(before)), Side("B", str(script))):
        weights = tmp_path / "weights.npz"
        options = RunOptions(probes=False, learning=LearningOptions(10**6, 300, str(weights), 1))
        run = run_side(side, tmp_path, options=options, limit_s=60)
        assert not run.failed, run.error
        learned.append(read_learned(run.path, weights, run.recording))
    assert [len(one.batches) for one in learned] == [80, 80]
    assert compare(*learned).data_stream in ("same-multiset", "identical")
    undone = _fitdoctor(tmp_path, "fix", "--undo")
    # The epochs were changed by hand since, so the file is left alone.
    assert undone.returncode == 2
