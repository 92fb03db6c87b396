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
            reader = ElementReader(mine)
            records = reading_order(mine, seed)
            if mine.batch is None:
                yield from map(_tensors(torch, mine), map(reader.values, records))
                return
            while rows := list(islice(map(reader.values, records), mine.batch)):
                if len(rows) < mine.batch and mine.drop_remainder:
                    return
                yield _tensors(torch, mine)(collated(rows))

    return Pack()


def _of_worker(torch: Any, request: Request) -> Request:
    """The part of a DataLoader's worker process."""
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return request
    count = request.count * worker.num_workers
    return replace(request, index=request.index * worker.num_workers + worker.id, count=count)


def collated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Elements as one batch: arrays stacked, bytes in a list."""
    return {
        name: [row[name] for row in rows]
        if isinstance(rows[0][name], bytes)
        else np.stack([row[name] for row in rows])
        for name in rows[0]
    }


def _tensors(torch: Any, request: Request) -> Any:
    def convert(values: dict[str, Any]) -> Any:
        made = {
            # NumPy views of a record are read-only, which torch does not know.
            name: torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }
        return request.arranged(made)

    return convert
