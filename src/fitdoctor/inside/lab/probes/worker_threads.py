"""A PyDataset read by several threads: where reading waits, and where native code works."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, TypeVar

from fitdoctor.contract.evidence.loading import BatchInProcess, ThreadsForWaits, ThreadsForWork
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.lab.apparatus.slow_input import (
    MOST_WAITING,
    slow_adapter,
    threads_for_waits,
    waits_for_more_threads,
)
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.context import Context, median_ns
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.ledger.cpu import cores_by_affinity
from fitdoctor.inside.seams.inputs.second_reader import EndlessLoader, batches_with_threads

SECONDS = 1.0
# Twice as many threads are worth it from here on.
WORTH_DOUBLING = 1.25
# A batch in less than this part of a step is hidden.
HIDDEN = 0.8
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
    """More and more threads that wait at the same time, as long as that helps.

    Waiting needs no core: how many readers a disk or a service serves at once only a trial shows.
    """

    phase = Phase.INPUT
    after = ("in_process",)

    def wanted(self, context: Context) -> bool:
        adapter = slow_adapter(context, "PyDataset")
        return adapter is not None and waits_for_more_threads(context, adapter.py_dataset)

    def run(self, context: Context) -> ThreadsForWaits:
        best: ThreadsForWaits | None = None
        first = max(threads_for_waits(), 2 * context.adapter.py_dataset.workers)
        for workers in ladder(first):
            found = _with_threads(context.adapter, workers, ThreadsForWaits)
            if best is not None and not _is_worth(best, found):
                break
            best = found
            # Batches that come faster than a step takes are waited for no longer.
            if (median_ns(found) or 0.0) < HIDDEN * (context.step_ns or 0.0):
                break
        if best is None:
            raise NotAvailable("no number of threads could be tried")
        return best


def ladder(first: int) -> list[int]:
    """The numbers of threads that are tried, in order.

    Example:
        >>> ladder(4)
        [4, 8, 16, 32]
    """
    found = [first]
    while found[-1] * 2 <= MOST_WAITING:
        found.append(found[-1] * 2)
    return found


def _is_worth(before: Timed, after: Timed) -> bool:
    """Twice the threads must give clearly more batches."""
    return (median_ns(before) or 0.0) >= WORTH_DOUBLING * (median_ns(after) or 0.0)


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
