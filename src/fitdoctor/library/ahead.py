"""`fitdoctor.read_ahead`: a generator's next batches are made in a thread while the model trains.

    model.fit(fitdoctor.read_ahead(batches()), steps_per_epoch=100)

On torch, `fit` asks a generator for a batch and computes, and asks again: the two take turns. Here
a thread asks for the next batch meanwhile. The batches are the same, in the same order.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

_END = object()
# How often a thread that has nothing to do looks whether it is still wanted.
_LOOK_S = 0.2


def read_ahead(batches: Iterable[Any], ahead: int = 2) -> Iterator[Any]:
    """The same batches, of which the next ones are made in a thread.

    A batch is copied before the next one is made, so that a generator may use its arrays again. An
    error comes where the batch would have come.

    Args:
        batches: A generator, or anything that can be iterated.
        ahead: Batches that may wait at a time.

    Raises:
        ValueError: `ahead` is less than one.

    Example:
        >>> list(read_ahead(iter([1, 2, 3])))
        [1, 2, 3]
    """
    if ahead < 1:
        raise ValueError(f"ahead={ahead!r}: at least one batch has to be read ahead")
    return _handed_over(batches, ahead)


def _handed_over(batches: Iterable[Any], ahead: int) -> Iterator[Any]:
    ready: queue.Queue[Any] = queue.Queue(maxsize=ahead)
    over = threading.Event()

    def offer(item: Any) -> None:
        while not over.is_set():
            try:
                ready.put(item, timeout=_LOOK_S)
                return
            except queue.Full:
                continue

    def make() -> None:
        try:
            for batch in batches:
                offer((_kept(batch), None))
                if over.is_set():
                    return
            offer((_END, None))
        except BaseException as error:  # noqa: BLE001 - the user's, raised again where it is awaited
            offer((_END, error))

    thread = threading.Thread(target=make, name="fitdoctor.read_ahead", daemon=True)
    thread.start()
    try:
        while True:
            batch, error = ready.get()
            if error is not None:
                raise error
            if batch is _END:
                return
            yield batch
    finally:
        over.set()


def _kept(batch: Any) -> Any:
    """A batch that its maker can no longer change."""
    if isinstance(batch, dict):
        return {key: _kept(value) for key, value in batch.items()}
    if isinstance(batch, (tuple, list)) and type(batch) in (tuple, list):
        return type(batch)(_kept(value) for value in batch)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(batch, numpy.ndarray):
        return batch.copy()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(batch, torch.Tensor):
        return batch.clone()
    return batch
