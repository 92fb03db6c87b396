"""What workers do for a PyDataset: one batch made in this thread, shipped, or read by threads."""

from __future__ import annotations

import itertools
import pickle
import sys
import time
from collections.abc import Iterator
from typing import Any

from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.windows import MIN_WINDOWS, measure
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.native_work import NativeWork
from fitdoctor.inside.proof.fingerprint import fingerprint
from fitdoctor.inside.seams.backends.randomness import global_state
from fitdoctor.inside.seams.inputs.second_reader import (
    EndlessLoader,
    batches_with_threads,
    same_batch_again,
)

SECONDS = 1.0
FLOOR_S = 0.6
PICKLED = 3
# Reads that wait share the cores: several per core, but a server is not to be flooded.
THREADS_PER_CORE = 2
MOST_THREADS = 16
# Less native work than this leaves Python's lock with one thread at a time.
NATIVE_SHARE = 0.3
# Batches that are made twice, to see whether they are the same.
MOST_COMPARED, COMPARED_S = 32, 1.0


def in_process(dataset: Any) -> Data:
    """Time to make one batch in this thread, its CPU part, and what shipping it would take."""
    indices = itertools.cycle(range(max(1, _length(dataset))))
    work_of_one = NativeWork()
    work_of_one.of(lambda: dataset[next(indices)])
    begin = time.perf_counter()
    batch = dataset[next(indices)]
    seconds = max(SECONDS, MIN_WINDOWS * (time.perf_counter() - begin))
    cpu = time.thread_time()
    made = 0

    def work() -> int:
        nonlocal made
        dataset[next(indices)]
        made += 1
        return 1

    windows = measure(work, lambda: None, seconds=seconds)
    return {
        **windows.to_record(),
        "thread_cpu_ns": round((time.thread_time() - cpu) / max(1, made) * 1e9),
        "native": work_of_one.to_record(),
        **shipping(batch),
        "length": _length(dataset),
    }


def same_batches(dataset: Any) -> Data:
    """Whether an index gives the same batch again, and what speaks against keeping batches."""
    base = sys.modules["keras"].utils.PyDataset
    hooks = ("on_epoch_begin", "on_epoch_end")
    length = max(1, _length(dataset))
    state, begin = global_state(), time.perf_counter()
    same, compared = True, 0
    for index in range(0, length, max(1, length // MOST_COMPARED)):
        one, other = fingerprint(dataset[index]), fingerprint(dataset[index])
        same = same and one is not None and one == other
        compared += 1
        if not same or time.perf_counter() - begin > COMPARED_S:
            break
    return {
        "same": same and global_state() == state,
        "compared": compared,
        "length": length,
        # They may give an index another batch in the next epoch.
        "hooks": [
            name for name in hooks if getattr(type(dataset), name) is not getattr(base, name)
        ],
        "hashable": type(dataset).__hash__ is not None,
        "available_bytes": available_bytes(),
    }


def adapter_floor(adapter: Any, backend: str) -> Data:
    """What a batch costs that is made for nothing: Keras's own way from PyDataset to step."""
    batch = adapter.py_dataset[0]
    batches = same_batch_again(adapter, backend, batch)
    next(batches)

    def work() -> int:
        next(batches)
        return 1

    return measure(work, lambda: None, seconds=FLOOR_S).to_record()


def shipping(batch: Any) -> Data:
    """Bytes of a batch between processes, and the time to pack and unpack it."""
    spent = []
    size = 0
    for _ in range(PICKLED):
        begin = time.perf_counter()
        packed = pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)
        pickle.loads(packed)
        spent.append(time.perf_counter() - begin)
        size = len(packed)
    return {"payload_bytes": size, "pickle_ns": round(min(spent) * 1e9)}


def is_native(made: Data) -> bool:
    """Whether enough of a batch is made in native calls for threads to share it."""
    native = (made.get("native") or {}).get("native_ns") or 0
    return bool(native >= NATIVE_SHARE * made["thread_cpu_ns"])


def threads(adapter: Any, workers: int) -> Data:
    """Batches read by several threads at a time: does throughput rise with reads in flight?"""

    def fresh() -> Iterator[Any]:
        return batches_with_threads(adapter, workers)

    loader = EndlessLoader(fresh)
    try:
        begin = time.perf_counter()
        for _ in range(workers + 1):
            next(loader)
        seconds = max(SECONDS, time.perf_counter() - begin)

        def work() -> int:
            next(loader)
            return 1

        windows = measure(work, lambda: None, seconds=seconds)
    finally:
        loader.close()
    return {**windows.to_record(), "workers": workers, "passes": loader.passes}


def _length(dataset: Any) -> int:
    try:
        return int(dataset.num_batches or 1)
    except (TypeError, AttributeError, NotImplementedError):
        return 1
