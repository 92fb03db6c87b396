"""A pack as a torch IterableDataset; the workers of a DataLoader share its shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from fitdoctor.pack.extras import needed
from fitdoctor.pack.reading.record_reader import ElementReader, reading_order
from fitdoctor.pack.reading.request import Request

Element = dict[str, Any]


def torch_dataset(request: Request) -> Any:
    """The dataset; give it to a DataLoader with batch_size=None."""
    torch = needed("torch", "test")

    class Pack(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        """Elements or batches of a pack."""

        passes = 0

        def __iter__(self) -> Iterator[Any]:
            """One pass; each is shuffled differently, but the same for the same seed."""
            mine, seed = _of_worker(torch, request), request.seed
            if seed is not None:
                seed += self.passes
            self.passes += 1
            elements = map(ElementReader(mine).values, reading_order(mine, seed))
            for values in elements if mine.batch is None else _batches(elements, mine):
                yield mine.arranged({name: _tensor(torch, v) for name, v in values.items()})

    return Pack()


def _of_worker(torch: Any, request: Request) -> Request:
    """The part of a DataLoader's worker process."""
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return request
    count = request.count * worker.num_workers
    return replace(request, index=request.index * worker.num_workers + worker.id, count=count)


def collated(rows: list[Element]) -> Element:
    """Elements as one batch: arrays stacked, bytes in a list."""
    return {
        name: [row[name] for row in rows]
        if isinstance(rows[0][name], bytes)
        else np.stack([row[name] for row in rows])
        for name in rows[0]
    }


def _batches(elements: Iterator[Element], request: Request) -> Iterator[Element]:
    while rows := list(islice(elements, request.batch)):
        if len(rows) == request.batch or not request.drop_remainder:
            yield collated(rows)


def _tensor(torch: Any, value: Any) -> Any:
    # NumPy views of a record are read-only, which torch does not know.
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
