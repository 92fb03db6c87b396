"""The user's batches made in this thread, where they are made by Python code that can be called."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable

# Batches of a DataLoader that are made in turn: its sampler is asked for no more.
PICKED = 4


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
