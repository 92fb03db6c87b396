"""Runs the shards of a plan in several processes of this machine."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from fitdoctor.contract.errors import FitdoctorError, OutputError
from fitdoctor.pack.job import Job, Report, write_shard
from fitdoctor.pack.shard import Receipt
from fitdoctor.pack.sources.data_source import Range

Tasks = list[tuple[int, Range]]
TICK_S = 0.2
_PR_SET_PDEATHSIG = 1
# Libraries with threads of their own: a forked copy of their process may hang.
_THREADED = ("tensorflow", "jax", "torch", "ray", "grain", "pyarrow", "h5py")
_worker: dict[str, Any] = {}


def run_local(job: Job, tasks: Tasks, workers: int, report: Report) -> Iterator[Receipt]:
    """The receipts of all tasks, as they are finished.

    Raises:
        FitdoctorError: A task failed; tasks that were finished before keep their shards.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        for number, part in tasks:
            yield write_shard(job, number, part, report)
        return
    context = multiprocessing.get_context("fork" if _can_fork() else "spawn")
    counters = context.Array("q", 2)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(job, counters, os.getpid())
    )
    # Forked workers share this process's memory as long as nobody writes to it, and the garbage
    # collector writes to every object that it looks at.
    gc.freeze()
    try:
        yield from _results(pool, tasks, counters, report)
    except BrokenProcessPool as error:
        raise OutputError(
            "a worker process was killed, perhaps for lack of memory",
            expected="all workers to finish",
            advice="the same command again: it continues where it stopped; --workers 1 needs least",
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        gc.unfreeze()


def _can_fork() -> bool:
    alone = threading.active_count() == 1
    return sys.platform == "linux" and alone and not any(name in sys.modules for name in _THREADED)


def _results(
    pool: ProcessPoolExecutor, tasks: Tasks, counters: Any, report: Report
) -> Iterator[Receipt]:
    waiting: set[Future[Receipt]] = {pool.submit(_task, *task) for task in tasks}
    seen = [0, 0]
    while waiting:
        done, waiting = wait(waiting, TICK_S, FIRST_COMPLETED)
        now = list(counters)
        report(now[0] - seen[0], now[1] - seen[1])
        seen = now
        failed = [future for future in done if future.exception() is not None]
        yield from (future.result() for future in done if future not in failed)
        for future in failed:
            error = future.exception()
            # What the others write is of use when the command is given again.
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, FitdoctorError | BrokenProcessPool):
                raise error
            raise RuntimeError("a worker failed") from error


def _begin(job: Job, counters: Any, parent: int) -> None:
    """Prepare a worker: it must not outlive the command, and Ctrl-C is the command's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    _worker["job"], _worker["counters"] = job, counters


def die_with_parent(parent: int) -> None:
    """Ask Linux to end this process when its parent is killed; elsewhere nothing is done."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before we asked
        os._exit(1)


def _task(number: int, part: Range) -> Receipt:
    counters = _worker["counters"]

    def report(items: int, count_bytes: int) -> None:
        with counters.get_lock():
            counters[0] += items
            counters[1] += count_bytes

    return write_shard(_worker["job"], number, part, report)
