"""The step at many batch sizes on the device of this process, and what it costs to feed it."""

from __future__ import annotations

import time
from typing import Any

from fitdoctor.inside.lab.apparatus.frozen_steps import time_steps
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.backends.device import device_facts, host_copy, sender

FACTORS = (1 / 16, 1 / 4, 1, 4, 16, 64)
SECONDS = 0.4
# A step longer than this is far beyond any crossover.
LONGEST_NS = 0.5e9
MOST_ROWS = 262_144
MOST_BYTES = 2 * 1024**3
COPIES = 5


def device_sweep(backend: Backend, call: Call, batch: Any, result: Any) -> Data:
    """Steps at sizes around the user's own, until memory, time or patience ends."""
    rows = backend.rows(batch)
    if rows is None:
        raise NotAvailable("the tensors of a batch do not share their first dimension")
    function = backend.step_function(call.model, steps_per_execution=1)
    data: Data = {"rows": rows, "sizes": {}, "device": device_facts(backend.name)}
    size_bytes = batch_bytes(batch)
    for size in sorted({max(1, round(rows * factor)) for factor in FACTORS}):
        if size > MOST_ROWS or size_bytes * size / rows > MOST_BYTES:
            break
        try:
            scaled = _scaled(backend, batch, rows, size)
            stepper = backend.stepper(call, function, scaled, result)
            windows = time_steps(stepper, 1, SECONDS)
        except Exception as error:  # noqa: BLE001 - out of memory has a type of its own everywhere
            data["ended"] = f"at {size} rows: {type(error).__name__}"
            break
        data["sizes"][str(size)] = windows.to_record()
        if min(windows.ns) > LONGEST_NS:
            break
    data["transfer_ns"] = transfer_ns(backend.name, batch)
    data["batch_bytes"] = size_bytes
    data["device"].update(device_facts(backend.name))
    return data


def _scaled(backend: Backend, batch: Any, rows: int, size: int) -> Any:
    if size <= rows:
        return backend.cut(batch, size)
    return backend.cut(backend.widen(batch, -(-size // rows)), size)


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
