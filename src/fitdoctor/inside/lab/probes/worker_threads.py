"""A PyDataset read by several threads: where reading waits, and where native code works."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, TypeVar

from fitdoctor.contract.evidence.loading import BatchInProcess, ThreadsForWaits, ThreadsForWork
from fitdoctor.inside.lab.apparatus.slow_input import (
    slow_adapter,
    threads_for_waits,
    waits_for_more_threads,
)
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.ledger.cpu import cores_by_affinity
from fitdoctor.inside.seams.inputs.second_reader import EndlessLoader, batches_with_threads

SECONDS = 1.0
# Less native work than this leaves Python's lock with one thread at a time.
NATIVE_SHARE = 0.3

Threads = TypeVar("Threads", ThreadsForWaits, ThreadsForWork)


def is_native(made: BatchInProcess) -> bool:
    """Whether enough of a batch is made in native calls for threads to share it."""
    native_ns = made.native.native_ns if made.native is not None else 0
    return native_ns >= NATIVE_SHARE * made.thread_cpu_ns


def _with_threads(adapter: Any, workers: int, kind: type[Threads]) -> Threads:
    """Does throughput rise with the number of reads in flight?"""

    def fresh() -> Iterator[Any]:
        return batches_with_threads(adapter, workers)

    loader = EndlessLoader(fresh)
    try:
        begin = time.perf_counter()
        for _ in range(workers + 1):
            next(loader)
        seconds = max(SECONDS, time.perf_counter() - begin)
        windows = measure(lambda: next(loader), seconds=seconds)
    finally:
        loader.close()
    return kind(**windows.fields(), workers=workers, passes=loader.passes)


class MoreThreadsForWaits(Probe[ThreadsForWaits]):
    """As many threads as may wait at the same time."""

    phase = Phase.INPUT
    after = ("in_process",)

    def wanted(self, context: Context) -> bool:
        adapter = slow_adapter(context, "PyDataset")
        return adapter is not None and waits_for_more_threads(context, adapter.py_dataset)

    def run(self, context: Context) -> ThreadsForWaits:
        return _with_threads(context.adapter, threads_for_waits(), ThreadsForWaits)


class MoreThreadsForWork(Probe[ThreadsForWork]):
    """One thread for each core.

    Whether native calls release Python's lock, and for how long, only a trial shows.
    """

    phase = Phase.INPUT
    after = ("same_batches",)

    def wanted(self, context: Context) -> bool:
        adapter = slow_adapter(context, "PyDataset")
        if adapter is None or waits_for_more_threads(context, adapter.py_dataset):
            return False
        made = context.found(BatchInProcess)
        has_cores = adapter.py_dataset.workers < cores_by_affinity()
        return has_cores and made is not None and is_native(made)

    def run(self, context: Context) -> ThreadsForWork:
        return _with_threads(context.adapter, cores_by_affinity(), ThreadsForWork)
