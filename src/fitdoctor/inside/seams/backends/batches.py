"""Batches as nested tuples, lists and dicts of array-like leaves, whatever the backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def map_leaves(function: Callable[[Any], Any], batch: Any) -> Any:
    """Apply a function to every leaf; None stays None."""
    if batch is None:
        return None
    if isinstance(batch, dict):
        return {key: map_leaves(function, value) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_leaves(function, value) for value in batch))
    if isinstance(batch, tuple | list):
        return type(batch)(map_leaves(function, value) for value in batch)
    return function(batch)


def leaves(batch: Any) -> list[Any]:
    """Every leaf that is not None, in order."""
    found: list[Any] = []
    map_leaves(found.append, batch)
    return found


def as_tuples(batch: Any) -> Any:
    """The same with tuples for lists: a tf.data dataset makes one tensor of a list."""
    if isinstance(batch, dict):
        return {key: as_tuples(value) for key, value in batch.items()}
    if isinstance(batch, list | tuple) and not hasattr(batch, "_fields"):
        return tuple(as_tuples(value) for value in batch)
    return batch


def common_rows(batch: Any) -> int | None:
    """The length of the first axis, if every leaf has the same one."""
    sizes = set()
    for leaf in leaves(batch):
        shape = getattr(leaf, "shape", None)
        if shape is None or len(shape) == 0:
            return None
        sizes.add(int(shape[0]))
    return sizes.pop() if len(sizes) == 1 else None


def describe(batch: Any) -> list[str]:
    """Shape and dtype of every leaf, as text for the recording."""
    return [
        f"{getattr(leaf, 'dtype', type(leaf).__name__)}{list(getattr(leaf, 'shape', []))}"
        for leaf in leaves(batch)
    ]
