"""One element as its makers give it, brought into one form: names to bytes or NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fitdoctor.pack.schema import BadElement

TUPLE_NAMES = ("x", "y", "sample_weight")
# Stands between the names of nested dicts; the manifest remembers tuples by TUPLE_NAMES.
SEPARATOR = "/"


def normal(value: Any) -> dict[str, Any]:
    """An element as a flat dict; tuples become x, y and sample_weight as in Keras.

    Raises:
        BadElement: A part cannot be stored.
    """
    if isinstance(value, tuple):
        if not 1 <= len(value) <= len(TUPLE_NAMES):
            raise BadElement(f"it is a tuple of {len(value)}; expected x, y and sample_weight")
        value = dict(zip(TUPLE_NAMES, value, strict=False))
    elif not isinstance(value, dict):
        value = {"x": value}
    flat: dict[str, Any] = {}
    _flatten(value, "", flat)
    return flat


def _flatten(values: dict[Any, Any], prefix: str, flat: dict[str, Any]) -> None:
    for key, value in values.items():
        if not isinstance(key, str) or not key:
            raise BadElement(f"it has the key {key!r}; expected text")
        if isinstance(value, dict):
            _flatten(value, prefix + key + SEPARATOR, flat)
        else:
            flat[prefix + key] = _value(prefix + key, value)


def _value(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise BadElement(f"{name!r} is a ragged list: {error}") from error
    # TensorFlow, torch on the CPU and JAX have `__array__`. Python has one float; float32 is
    # what training computes with, but it would round.
    elif not isinstance(value, bool | int | float) and not hasattr(value, "__array__"):
        raise BadElement(f"{name!r} is a {type(value).__name__}, which cannot be stored")
    return _array(name, np.asarray(value))


def _array(name: str, array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind in "OSU":
        if array.shape == () and isinstance(array.item(), bytes | str):
            item = array.item()
            return item if isinstance(item, bytes) else item.encode()
        raise BadElement(f"{name!r} is an array of {array.dtype}; expected numbers, or one text")
    return little_endian(array)


def little_endian(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The wire is little endian; NumPy's name of a type says nothing about its order."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
