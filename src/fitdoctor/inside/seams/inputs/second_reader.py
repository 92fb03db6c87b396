"""A second reader of the user's data that leaves the running one alone."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable

ENDLESS = 1_000_000  # batches
MOST_KEPT = 32  # finished readers; each holds threads
# Batches of a DataLoader that are made in turn: its sampler is asked for no more.
PICKED = 4


class EndlessLoader:
    """Passes over the data again and again; each pass is a fresh reader."""

    def __init__(self, fresh: Callable[[], Iterator[Any]]) -> None:
        self._fresh = fresh
        self._iterator: Iterator[Any] | None = None
        # TensorFlow may wait long for the threads of an iterator that is let go.
        self._finished: list[Iterator[Any]] = []
        self.passes = 0

    def __iter__(self) -> EndlessLoader:
        return self

    def __next__(self) -> Any:
        """The next batch, from a new pass when this one is over."""
        for _ in range(2):
            if self._iterator is None:
                self._iterator = self._fresh()
                self.passes += 1
            try:
                return next(self._iterator)
            except StopIteration:
                self._finished = [*self._finished[-MOST_KEPT:], self._iterator]
                self._iterator = None
        raise StopIteration

    def close(self) -> None:
        """Stop workers that a pass may have started."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
        self._iterator = None
        self._finished.clear()


def number_of_batches(dataset: Any) -> int:
    """The batches of one pass over a PyDataset; 1 where it has no length."""
    try:
        return max(1, int(dataset.num_batches or 1))
    except (TypeError, AttributeError, NotImplementedError):
        return 1


def enqueued_batches(adapter: Any) -> Iterator[Any] | None:
    """Batches of a PyDataset with workers, through worker queues of their own.

    The running adapter's queue feeds the training; reading it would take batches away.
    Returns None for data that has no queue.
    """
    if getattr(adapter, "enqueuer", None) is None:
        return None
    second = type(adapter)(
        adapter.py_dataset, class_weight=adapter.class_weight, shuffle=adapter.shuffle
    )
    return _closing(second)


def batches_with_threads(adapter: Any, workers: int) -> Iterator[Any]:
    """Batches of a PyDataset read by this many threads; its own settings stay what they are."""
    dataset = adapter.py_dataset
    own = dataset.workers, dataset.use_multiprocessing
    dataset.workers, dataset.use_multiprocessing = workers, False
    try:
        second = type(adapter)(dataset, class_weight=adapter.class_weight, shuffle=adapter.shuffle)
    finally:
        dataset.workers, dataset.use_multiprocessing = own
    return _closing(second)


def same_batch_again(adapter: Any, backend: str, batch: Any) -> Iterator[Any]:
    """One batch over and over, through Keras's adapter for PyDatasets."""
    endless = {"__len__": lambda _: ENDLESS, "__getitem__": lambda _, __: batch}
    same = type("Same", (sys.modules["keras"].utils.PyDataset,), endless)
    second = type(adapter)(same(), class_weight=adapter.class_weight, shuffle=False)
    makers = {"tensorflow": "get_tf_dataset", "jax": "get_jax_iterator"}
    return iter(getattr(second, makers.get(backend, "get_torch_dataloader"))())


def _closing(adapter: Any) -> Iterator[Any]:
    batches = adapter.get_numpy_iterator()
    try:
        yield from batches
    finally:
        adapter.enqueuer.stop()


def batch_maker(adapter: Any, kind: str) -> Callable[[], Any]:
    """Makes the user's batches in this thread, one after the other.

    Raises:
        NotAvailable: this kind of data is not made by code that can be called.
    """
    if kind == "PyDataset":
        dataset = adapter.py_dataset
        numbers = itertools.cycle(range(max(1, int(dataset.num_batches or 1))))
        return lambda: dataset[next(numbers)]
    if kind == "DataLoader":
        loader = adapter._dataloader
        if loader.batch_sampler is None:
            raise NotAvailable("the DataLoader makes no batches")
        picked = itertools.cycle(list(itertools.islice(loader.batch_sampler, PICKED)))
        return lambda: loader.collate_fn([loader.dataset[index] for index in next(picked)])
    raise NotAvailable("the data is not made by Python code of the user's")
