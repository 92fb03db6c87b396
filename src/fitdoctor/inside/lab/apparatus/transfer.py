"""A batch on its way to the device: its bytes, and how long the copy takes."""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.device import host_copy, sender

COPIES = 5


def batch_bytes(batch: Any) -> int:
    """Of all tensors of a batch."""
    return sum(int(getattr(leaf, "nbytes", 0) or 0) for leaf in batches.leaves(batch))


def transfer_ns(backend: str, batch: Any) -> int:
    """One batch from the host's memory to the device."""
    arrays, send = host_copy(batch), sender(backend)
    send(arrays)
    times = []
    for _ in range(COPIES):
        begin = time.perf_counter_ns()
        send(arrays)
        times.append(time.perf_counter_ns() - begin)
    return sorted(times)[COPIES // 2]
