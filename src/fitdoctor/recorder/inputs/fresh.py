"""A second reader of the user's data that leaves the running one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class EndlessLoader:
    """Passes over the data again and again; each pass is a fresh reader."""

    def __init__(self, fresh: Callable[[], Iterator[Any]]) -> None:
        """Open nothing yet."""
        self._fresh = fresh
        self._iterator: Iterator[Any] | None = None
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
                self._iterator = None
        raise StopIteration

    def close(self) -> None:
        """Stop workers that a pass may have started."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
        self._iterator = None


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


def _closing(adapter: Any) -> Iterator[Any]:
    batches = adapter.get_numpy_iterator()
    try:
        yield from batches
    finally:
        adapter.enqueuer.stop()
