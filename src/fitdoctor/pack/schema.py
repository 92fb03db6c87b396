"""What every element of a pack has: names, types and shapes, and how each is stored.

tf.train.Example knows three kinds of lists: bytes, float (32 bits) and int64. Types that do
not fit one of them exactly are stored raw: the array's bytes, little endian, as one bytes value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

# Int64 lists store small numbers in few bytes, but are slow to read; longer ones go raw.
LONGEST_INT_LIST = 32
_INT_LIST_DTYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]
)
_DTYPES = _INT_LIST_DTYPES | {"uint64", "float16", "float32", "float64"}


class BadElement(ValueError):
    """An element that does not fit; the message says why, the caller knows which."""


@dataclass(frozen=True)
class Feature:
    """One named part of every element."""

    name: str
    dtype: str  # NumPy's name, or "bytes"
    shape: tuple[int, ...]
    storage: str  # bytes | float | int64 | raw
    image: dict[str, Any] | None = None  # an encoded image: its format and size, where all agree

    @property
    def list_shape(self) -> list[int]:
        """The shape of what an Example stores: bytes and raw values are one text."""
        return [] if self.storage in ("bytes", "raw") else list(self.shape)

    @property
    def size(self) -> int:
        """Numbers in one value."""
        return int(np.prod(self.shape, dtype=np.int64))

    def to_json(self) -> dict[str, Any]:
        data = asdict(self) | {"shape": list(self.shape)}
        return {key: value for key, value in data.items() if value is not None}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Feature:
        return Feature(**{**data, "shape": tuple(data["shape"])})


Schema = tuple[Feature, ...]


def schema_of(element: dict[str, Any]) -> Schema:
    """The schema of an element, its features in the order of their names.

    Raises:
        BadElement: A value has a type that cannot be stored.
    """
    if not element:
        raise BadElement("it has no values")
    return tuple(_feature(name, element[name]) for name in sorted(element))


def _feature(name: str, value: Any) -> Feature:
    if isinstance(value, bytes):
        return Feature(name, "bytes", (), "bytes")
    if not isinstance(value, np.ndarray):
        raise BadElement(f"{name!r} is a {type(value).__name__}, which cannot be stored")
    dtype = value.dtype.name
    if dtype not in _DTYPES:
        raise BadElement(f"{name!r} has the type {value.dtype}, which cannot be stored")
    # The list that holds a type exactly.
    short = value.size <= LONGEST_INT_LIST and dtype in _INT_LIST_DTYPES
    storage = "float" if dtype == "float32" else "int64" if short else "raw"
    return Feature(name, dtype, value.shape, storage)


def difference(expected: Schema, received: Schema) -> str:
    """In words, how an element differs; empty when it does not."""
    if [f.name for f in expected] != [f.name for f in received]:
        names = [", ".join(f.name for f in schema) for schema in (received, expected)]
        return f"it has the values {names[0]}; the first element has {names[1]}"
    for one, other in zip(expected, received, strict=True):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{one.name!r} is {_words(other)}; in the first element it is {_words(one)}"
    return ""


def _words(feature: Feature) -> str:
    return f"{feature.dtype} {list(feature.shape)}" if feature.dtype != "bytes" else "bytes"
