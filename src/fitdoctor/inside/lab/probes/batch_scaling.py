"""Other batch sizes: a step that takes as long for a quarter of the batch is bound by dispatch."""

from __future__ import annotations

import time

from fitdoctor.contract.evidence.device import Device, DeviceTime
from fitdoctor.contract.evidence.step import BatchScaling, PartOfBatch
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns, time_steps
from fitdoctor.inside.lab.apparatus.windows import Windows
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe

SECONDS = 0.8
FACTOR = 4
# Starting the operations may take far longer than a small batch on a GPU.
WIDEST_ON_GPU = 16
ENOUGH_S = 10.0
# Steps longer than this are not bound by dispatch on any backend.
SHORT_STEP_NS = 30_000_000
# A GPU that works at least this part of a frozen step does not wait for its start.
DEVICE_IDLES = 0.8


def start_may_matter(context: Context) -> bool:
    """Whether starting a compiled step may take long beside computing it.

    On a GPU, the many small operations of a long step may; a device that works nearly all the
    time shows that they do not.
    """
    step_ns = compiled_step_ns(context)
    if step_ns is None:
        return False
    device, busy = context.found(Device), context.found(DeviceTime)
    if device is None or device.kind != "gpu" or busy is None:
        return step_ns < SHORT_STEP_NS
    return busy.busy_ns < DEVICE_IDLES * step_ns


class BatchScalingProbe(Probe[BatchScaling]):
    """The step at a quarter of, and at four times the user's batch size, on a GPU wider still.

    A step of its own is made for it: other shapes would make the user's compiled step
    more general, and so a little different for the rest of the training.
    """

    phase = Phase.HOST
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        return start_may_matter(context)

    def run(self, context: Context) -> BatchScaling:
        rows = context.step.rows
        if rows is None:
            raise NotAvailable("the tensors of a batch do not share their first dimension")
        sizes: dict[str, Timed] = {}
        if rows >= FACTOR:
            sizes[str(rows // FACTOR)] = _cut(context, rows // FACTOR).timed()
        widest = WIDEST_ON_GPU if context.on_gpu else FACTOR
        ended = _widen(context, sizes, rows, widest)
        return BatchScaling(rows=rows, sizes=sizes, ended=ended)


class PartOfBatchProbe(Probe[PartOfBatch]):
    """The step on a quarter of the batch alone: where a device has too little memory for more."""

    phase = Phase.DEVICE
    after = ("device", "device_time")

    def wanted(self, context: Context) -> bool:
        device = context.found(Device)
        if device is None or device.kind != "gpu" or context.step_ns is None:
            return False
        return bool(device.memory_retries)

    def run(self, context: Context) -> PartOfBatch:
        rows = context.step.rows
        if rows is None or rows < FACTOR:
            raise NotAvailable("the batch cannot be cut")
        windows = _cut(context, rows // FACTOR)
        return PartOfBatch(**windows.fields(), rows=rows // FACTOR, of_rows=rows)


def _widen(context: Context, sizes: dict[str, Timed], rows: int, widest: int) -> str | None:
    """Add larger sizes, and say why no larger one was tried."""
    times, begin = FACTOR, time.perf_counter()
    # Each size is compiled again, which may take long on a GPU.
    while times <= widest and time.perf_counter() - begin < ENOUGH_S:
        try:
            sizes[str(rows * times)] = _widened(context, times).timed()
        except Exception as error:
            if times == FACTOR:
                raise
            return f"at {rows * times} rows: {type(error).__name__}"  # out of memory
        times *= FACTOR
    return None


def _cut(context: Context, rows: int) -> Windows:
    stepper = context.step.on(lambda batch: context.backend.cut(batch, rows))
    return time_steps(stepper, 1, SECONDS)


def _widened(context: Context, times: int) -> Windows:
    stepper = context.step.on(lambda batch: context.backend.widen(batch, times))
    return time_steps(stepper, 1, SECONDS)
