"""A second reader of the user's data that leaves the running one alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


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
