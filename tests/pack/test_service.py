"""tf.data service with its processes on this machine: the same elements, each once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from packs import SOURCE

pytest.importorskip("tensorflow")
SERVED = 2000


def _started(*args: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "fitdoctor.pack.service", *args],
        env={**os.environ, "PYTHONPATH": SOURCE, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.fixture
def service() -> Iterator[str]:
    dispatcher, port = _started("dispatcher")
    workers = [_started("worker", "--dispatcher", f"localhost:{port}")[0] for _ in range(2)]
    yield f"grpc://localhost:{port}"
    for process in (*workers, dispatcher):
        process.kill()
        process.wait()


def _served(address: str) -> Any:
    import tensorflow as tf

    service = tf.data.experimental.service
    return tf.data.Dataset.range(SERVED).apply(
        service.distribute(
            processing_mode=service.ShardingPolicy.DYNAMIC,
            service=address,
            max_outstanding_requests=2,
        )
    )


@pytest.mark.end_to_end
def test_served_elements_are_the_same_multiset(service: str) -> None:
    found = Counter(int(value) for value in _served(service).as_numpy_iterator())
    assert found == Counter(range(SERVED))
