"""Pipelines that were made before anyone watched: how each stage was made, read off the dataset.

Only stages whose arguments can be read completely are noted; the others stay unknown, and what
depends on them is left alone. Private attributes of tf.data; `tests/test_speedup.py` fails when
one of them moves.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.inputs.tf_pipeline import inputs_of, made_of, note_transformation


def adopt(dataset: Any) -> None:
    """Note for every stage that can be read how it was made."""
    for one in inputs_of(dataset):
        adopt(one)
    if made_of(dataset) is not None:
        return
    reader = _READERS.get(type(dataset).__name__)
    if reader is None:
        return
    op, arguments = reader(dataset)
    base = sys.modules["tensorflow"].data.Dataset
    function = getattr(base, op)
    signature = inspect.signature(function)
    note_transformation(dataset, op, function, signature, dataset._input_dataset, arguments, base)


def seeds_of(dataset: Any) -> tuple[int, int] | None:
    """The two seeds of a shuffle, (0, 0) where it draws new ones at every start."""
    seed = getattr(dataset, "_seed", None)
    return None if seed is None else (int(seed), int(dataset._seed2))


def _number(value: Any) -> Any:
    return value.numpy().item()


def _map(dataset: Any) -> tuple[str, dict[str, Any]]:
    return "map", {"map_func": dataset._map_func._func}


def _parallel_map(dataset: Any) -> tuple[str, dict[str, Any]]:
    return "map", {
        "map_func": dataset._map_func._func,
        "num_parallel_calls": _number(dataset._num_parallel_calls),
        "deterministic": _DETERMINISTIC[dataset._deterministic],
    }


def _batch(dataset: Any) -> tuple[str, dict[str, Any]]:
    return "batch", {
        "batch_size": _number(dataset._batch_size),
        "drop_remainder": _number(dataset._drop_remainder),
    }


def _filter(dataset: Any) -> tuple[str, dict[str, Any]]:
    return "filter", {"predicate": dataset._predicate._func}


def _interleave(dataset: Any) -> tuple[str, dict[str, Any]]:
    return "interleave", {
        "map_func": dataset._map_func._func,
        "cycle_length": _number(dataset._cycle_length),
        "block_length": _number(dataset._block_length),
    }


def _shuffle(dataset: Any) -> tuple[str, dict[str, Any]]:
    seeds = seeds_of(dataset)
    return "shuffle", {
        "buffer_size": _number(dataset._buffer_size),
        "seed": None if seeds in (None, (0, 0)) else seeds[1] if seeds else None,
        "reshuffle_each_iteration": dataset._reshuffle_each_iteration,
    }


def _counted(op: str) -> Callable[[Any], tuple[str, dict[str, Any]]]:
    return lambda dataset: (op, {"count": _number(dataset._count)})


def _prefetch(dataset: Any) -> tuple[str, dict[str, Any]]:
    return "prefetch", {"buffer_size": _number(dataset._buffer_size)}


_DETERMINISTIC = {"default": None, "true": True, "false": False}
_READERS: dict[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
    "_MapDataset": _map,
    "_ParallelMapDataset": _parallel_map,
    "_BatchDataset": _batch,
    "_FilterDataset": _filter,
    "_InterleaveDataset": _interleave,
    "_ShuffleDataset": _shuffle,
    "_RepeatDataset": _counted("repeat"),
    "_TakeDataset": _counted("take"),
    "_SkipDataset": _counted("skip"),
    "_PrefetchDataset": _prefetch,
}
