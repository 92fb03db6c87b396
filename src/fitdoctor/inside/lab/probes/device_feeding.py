"""What it takes to bring a batch to the device: to pick its rows, and to copy them over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.lab.probes.device_sweep import batch_bytes, transfer_ns
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend

FACTOR = 4
PICKS = 5
# So many batches at once tell what a row costs, where starting is nearly all of a small copy;
WIDE = 16
# a larger copy is told from a quarter of it.
WIDE_BYTES = 1 << 26


def feeding(backend: Backend, batch: Any, arrays: Any) -> Data:
    """Nanoseconds to copy a batch and a quarter of it, and to pick as many rows at random.

    A copy that takes as long for a quarter is bound by its start, not by its bytes.
    """
    rows = backend.rows(batch)
    data: Data = {"transfer_ns": transfer_ns(backend.name, batch), "bytes": batch_bytes(batch)}
    if rows is not None and rows >= FACTOR:
        quarter = backend.cut(batch, rows // FACTOR)
        data["quarter_transfer_ns"] = transfer_ns(backend.name, quarter)
    if rows is not None:
        data["pick_ns"] = _pick_ns(arrays, rows)
        if WIDE * data["bytes"] <= WIDE_BYTES:
            wide = backend.widen(batch, WIDE)
            data["wide_times"] = WIDE
            data["wide_transfer_ns"] = transfer_ns(backend.name, wide)
            data["wide_pick_ns"] = _pick_ns(arrays, WIDE * rows)
    return data


def _pick_ns(arrays: Any, rows: int) -> int | None:
    """Rows from all over the user's arrays; None where they are no NumPy arrays."""
    numpy = sys.modules["numpy"]
    leaves = [leaf for leaf in batches.leaves(arrays) if isinstance(leaf, numpy.ndarray)]
    if not leaves or min(len(leaf) for leaf in leaves) < rows:
        return None
    # A generator of its own: the user's random numbers are not touched.
    order = numpy.random.default_rng(0).permutation(len(leaves[0]))[:rows]
    return _median_ns(lambda: [leaf[order] for leaf in leaves])


def _median_ns(work: Callable[[], Any]) -> int:
    times = []
    for _ in range(PICKS):
        begin = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - begin)
    return sorted(times)[PICKS // 2]
