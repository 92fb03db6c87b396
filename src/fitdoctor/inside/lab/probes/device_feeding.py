"""The device, and what it takes to bring a batch to it: to pick its rows, and to copy them."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import Any

from fitdoctor.contract.evidence.device import Device
from fitdoctor.inside.lab.apparatus.windows import durations_ns
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.device import device_facts, host_copy, sender

FACTOR = 4
PICKS = 5
# So many batches at once show what a row costs, where starting is nearly all of a small copy;
WIDE = 16
# for a larger copy, a quarter of it shows that.
WIDE_BYTES = 1 << 26
COPIES = 5


class DeviceProbe(Probe[Device]):
    """What Keras computes on; on a GPU also what feeding it takes."""

    phase = Phase.DEVICE
    subjects = STEPS
    on_spread_models = True
    needs_quiet = False

    def run(self, context: Context) -> Device:
        facts = device_facts(context.backend.name)
        steps = context.call.steps if context.call is not None else context.workload.steps
        found = Device(**asdict(facts), steps=steps)
        if facts.kind != "gpu" or context.batch is None or context.call is None:
            return found
        return with_feeding(found, context.backend, context.batch, context.fit.arguments.get("x"))


def with_feeding(device: Device, backend: Backend, batch: Any, arrays: Any) -> Device:
    """Nanoseconds to copy a batch and a quarter of it, and to pick as many rows at random.

    A copy that takes as long for a quarter is bound by its start, not by its bytes.
    """
    rows, size = backend.rows(batch), batch_bytes(batch)
    found = replace(device, transfer_ns=transfer_ns(backend.name, batch), bytes=size)
    if rows is None:
        return found
    if rows >= FACTOR:
        quarter = backend.cut(batch, rows // FACTOR)
        found = replace(found, quarter_transfer_ns=transfer_ns(backend.name, quarter))
    found = replace(found, pick_ns=_pick_ns(arrays, rows))
    if WIDE * size > WIDE_BYTES:
        return found
    return replace(
        found,
        wide_times=WIDE,
        wide_transfer_ns=transfer_ns(backend.name, backend.widen(batch, WIDE)),
        wide_pick_ns=_pick_ns(arrays, WIDE * rows),
    )


def _pick_ns(arrays: Any, rows: int) -> int | None:
    """Rows from all over the user's arrays; None where they are no NumPy arrays."""
    numpy = sys.modules["numpy"]
    leaves = [leaf for leaf in batches.leaves(arrays) if isinstance(leaf, numpy.ndarray)]
    if not leaves or min(len(leaf) for leaf in leaves) < rows:
        return None
    # A generator of its own: the user's random numbers are not touched.
    order = numpy.random.default_rng(0).permutation(len(leaves[0]))[:rows]
    return durations_ns(lambda: [leaf[order] for leaf in leaves], PICKS)[PICKS // 2]


def batch_bytes(batch: Any) -> int:
    """Of all tensors of a batch."""
    return sum(int(getattr(leaf, "nbytes", 0) or 0) for leaf in batches.leaves(batch))


def transfer_ns(backend: str, batch: Any) -> int:
    """One batch from the host's memory to the device."""
    arrays, send = host_copy(batch), sender(backend)
    send(arrays)
    return durations_ns(lambda: send(arrays), COPIES)[COPIES // 2]
