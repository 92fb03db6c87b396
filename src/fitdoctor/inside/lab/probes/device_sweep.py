"""The step at many batch sizes on the device of this process, and what it costs to feed it."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.device import DeviceSweep
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.lab.apparatus.frozen_steps import time_steps
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.lab.probes.device_feeding import batch_bytes, transfer_ns
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.device import device_facts

FACTORS = (1 / 16, 1 / 4, 1, 4, 16, 64)
SECONDS = 0.4
# A step longer than this is far beyond any crossover.
LONGEST_NS = 0.5e9
MOST_ROWS = 262_144
MOST_BYTES = 2 * 1024**3


class DeviceSweepProbe(Probe[DeviceSweep]):
    phase = Phase.DEVICE
    subjects = frozenset({Subject.SWEEP})
    longest_s = 240.0  # each batch size is compiled again

    def run(self, context: Context) -> DeviceSweep:
        backend, batch = context.backend, context.batch
        rows = backend.rows(batch)
        if rows is None:
            raise NotAvailable("the tensors of a batch do not share their first dimension")
        sizes, ended = _sweep(context, rows)
        return DeviceSweep(
            rows=rows,
            device=device_facts(backend.name),
            transfer_ns=transfer_ns(backend.name, batch),
            batch_bytes=batch_bytes(batch),
            sizes=sizes,
            ended=ended,
        )


def _sweep(context: Context, rows: int) -> tuple[dict[str, Timed], str | None]:
    backend, call = context.backend, context.fit
    function = backend.step_function(call.model, steps_per_execution=1)
    size_bytes = batch_bytes(context.batch)
    found: dict[str, Timed] = {}
    for size in sorted({max(1, round(rows * factor)) for factor in FACTORS}):
        if size > MOST_ROWS or size_bytes * size / rows > MOST_BYTES:
            break
        try:
            scaled = _scaled(backend, context.batch, rows, size)
            stepper = backend.stepper(call, function, scaled, context.result)
            windows = time_steps(stepper, 1, SECONDS)
        except Exception as error:  # noqa: BLE001 - out of memory has a type of its own everywhere
            return found, f"at {size} rows: {type(error).__name__}"
        found[str(size)] = windows.timed()
        if min(windows.ns) > LONGEST_NS:
            break
    return found, None


def _scaled(backend: Backend, batch: Any, rows: int, size: int) -> Any:
    if size <= rows:
        return backend.cut(batch, size)
    return backend.cut(backend.widen(batch, -(-size // rows)), size)
