"""A short fingerprint of a batch: which samples, with which values, in which order."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

from fitdoctor.contract.learning import SAMPLE_SPACE, Batch
from fitdoctor.inside.seams.backends import batches

_BYTES = 8


def fingerprint(batch: Any) -> Batch | None:
    """Digest of the whole batch, its number of samples, and a sum that no order changes.

    Equal sums mean the same samples, however they are ordered and divided into batches.
    None for a batch without arrays.
    """
    arrays = [array for leaf in batches.leaves(batch) if (array := as_array(leaf)) is not None]
    if not arrays:
        return None
    whole = hashlib.blake2b(digest_size=_BYTES)
    for array in arrays:
        whole.update(_described(array))
        whole.update(_content(array))
    rows = batches.common_rows(arrays)
    return Batch(whole.hexdigest(), rows, _sum_of_rows(arrays, rows))


def as_array(leaf: Any) -> Any:
    """A leaf as a NumPy array; None for what is no array."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(leaf, bool | int | float | numpy.generic):
        return numpy.asarray(leaf)
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        return None
    if hasattr(leaf, "detach"):  # torch
        leaf = leaf.detach().cpu()
        if str(leaf.dtype) == "torch.bfloat16":  # unknown to NumPy; widening loses nothing
            leaf = leaf.float()
        leaf = leaf.numpy()
    try:
        return numpy.asarray(leaf)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return None


def _described(array: Any) -> bytes:
    return f"{array.dtype}{array.shape}".encode()


def _content(array: Any) -> bytes:
    if array.dtype == object:  # strings of TensorFlow
        return b"\0".join(repr(item).encode() for item in array.ravel().tolist())
    content: bytes = array.tobytes()
    return content


def _sum_of_rows(arrays: list[Any], rows: int | None) -> int | None:
    if rows is None:
        return None
    total = 0
    for row in range(rows):
        digest = hashlib.blake2b(digest_size=_BYTES)
        for array in arrays:
            digest.update(_content(array[row : row + 1]))
        total = (total + int.from_bytes(digest.digest(), "big")) % SAMPLE_SPACE
    return total
