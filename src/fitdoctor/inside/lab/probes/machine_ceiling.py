"""What this machine can do at best: one large matrix product and one large copy."""

from __future__ import annotations

import sys
import time
from typing import Any

from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.seams.backends.base import Backend

SIZE = 1024
COPY_ELEMENTS = 16_000_000
REPEATS = 4


def machine_ceiling(backend: Backend) -> Data:
    """Floating-point operations and bytes per second, the best of a few tries."""
    ops = sys.modules["keras"].ops
    matrix = ops.ones((SIZE, SIZE), dtype="float32")
    vector = ops.ones((COPY_ELEMENTS,), dtype="float32")
    product = _best(backend, lambda: ops.matmul(matrix, matrix))
    copy = _best(backend, lambda: ops.add(vector, 1.0))
    return {
        "flops_per_s": 2.0 * SIZE**3 / product * 1e9,
        "bytes_per_s": 2.0 * 4 * COPY_ELEMENTS / copy * 1e9,
    }


def _best(backend: Backend, work: Any) -> float:
    backend.wait_for(work())
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter_ns()
        result = work()
        _finish(backend, result)
        times.append(time.perf_counter_ns() - begin)
    return float(min(times))


def _finish(backend: Backend, result: Any) -> None:
    # Copying a large result out would be part of the time; on TensorFlow's CPU it is done.
    if backend.name != "tensorflow":
        backend.wait_for(result)
