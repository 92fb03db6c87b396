"""Reads one pipeline in one framework: requests come on stdin, answers go to stdout."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Everything is read once before it is timed, so that caches are full; an endless one for so long.
FILL_S = 8.0
# What was loaded while others were timed is read before a round.
DRAIN_BATCHES, DRAIN_S = 8, 1.0
TORCH_WORKERS = len(os.sched_getaffinity(0))

Batches = Callable[[], Iterator[Any]]


def main() -> None:
    """Answer requests until stdin ends."""
    name, kind, folder = sys.argv[1:4]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # frameworks print what they like
    pipeline = importlib.import_module(f"benchmarks.pipelines.{name}")
    readers, facts = KINDS[kind](pipeline, Path(folder))
    endless = {name: _endless(make) for name, make in readers.items()}
    for reader in readers.values():
        _fill(reader)
    print(json.dumps({"readers": sorted(readers), **facts}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        reader = endless[request["reader"]]
        _drain(reader)
        print(json.dumps(_rate(reader, request["seconds"])), file=answers, flush=True)
    answers.flush()
    os._exit(0)  # iterators and workers may take seconds to let go


def _endless(make: Batches) -> Iterator[Any]:
    while True:
        yield from make()


def _fill(make: Batches) -> None:
    begin = time.perf_counter()
    for _ in make():
        if time.perf_counter() - begin > FILL_S:
            return


def _drain(reader: Iterator[Any]) -> None:
    begin = time.perf_counter()
    for _ in range(DRAIN_BATCHES):
        next(reader)
        if time.perf_counter() - begin > DRAIN_S:
            return


def _rate(reader: Iterator[Any], seconds: float) -> float:
    begin, rows = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        rows += len(next(reader)[1])
    return rows / (time.perf_counter() - begin)


# -- tf.data -----------------------------------------------------------------------


def tensorflow(pipeline: Any, folder: Path) -> tuple[dict[str, Batches], dict[str, Any]]:
    """As written, AUTOTUNE everywhere with a prefetch, and what `speedup` makes of the first."""
    import psutil
    import tensorflow as tf

    from fitdoctor.library.tf_speedup import faster

    naive = pipeline.tf_data(folder, None)
    autotune = pipeline.tf_data(folder, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    begin = time.perf_counter()
    free = psutil.virtual_memory().available
    found = faster(naive, free_bytes=free, unsafe=pipeline.IS_RANDOM)
    facts = {
        "planning_s": time.perf_counter() - begin,
        "applied": list(found.applied),
        "declined": list(found.declined),
        "same": _same(naive, found.dataset, is_random=pipeline.IS_RANDOM),
    }
    made = {"naive": naive, "autotune": autotune, "ours": found.dataset}
    return {name: one.__iter__ for name, one in made.items()}, facts


def _same(naive: Any, ours: Any, *, is_random: bool) -> str:
    """What one pass of both shows: the same elements in order, the same ids, or neither."""
    import numpy as np
    import tensorflow as tf

    one, other = list(naive), list(ours)
    if not is_random:
        pairs = [
            (np.asarray(a), np.asarray(b))
            for x, y in zip(one, other, strict=True)
            for a, b in zip(tf.nest.flatten(x), tf.nest.flatten(y), strict=True)
        ]
        if all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in pairs):
            return "elements and order"
    counts = [Counter(int(n) for batch in read for n in batch[1]) for read in (one, other)]
    return "ids" if counts[0] == counts[1] else "different"


# -- the others --------------------------------------------------------------------


def torch(pipeline: Any, folder: Path) -> tuple[dict[str, Batches], dict[str, Any]]:
    """A DataLoader with as many persistent workers as there are cores."""
    from torch.utils.data import DataLoader

    rows = _Rows(pipeline, folder)
    loader = DataLoader(
        rows,  # type: ignore[arg-type]
        batch_size=pipeline.BATCH,
        num_workers=TORCH_WORKERS,
        persistent_workers=True,
        drop_last=True,
        collate_fn=_collated,
    )
    return {"torch": loader.__iter__}, {}


def grain(pipeline: Any, folder: Path) -> tuple[dict[str, Batches], dict[str, Any]]:
    """A MapDataset of the same rows, read by grain's own threads."""
    import grain.python as pygrain

    made = pygrain.MapDataset.source(_Items(pipeline.source(folder))).map(pipeline.load)
    kept = made.to_iter_dataset().filter(lambda one: one is not None)
    batches = kept.batch(pipeline.BATCH, drop_remainder=True)
    return {"grain": batches.__iter__}, {}


class _Items:
    """A source that grain reads by index."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[int(index)]


class _Rows(_Items):
    """A dataset that torch reads by index."""

    def __init__(self, pipeline: Any, folder: Path) -> None:
        super().__init__(pipeline.source(folder))
        self._load = pipeline.load

    def __getitem__(self, index: Any) -> Any:
        return self._load(self._items[index])


def _collated(rows: list[Any]) -> Any:
    from torch.utils.data import default_collate

    return default_collate([row for row in rows if row is not None])


KINDS = {"tf.data": tensorflow, "torch": torch, "grain": grain}

if __name__ == "__main__":
    main()
