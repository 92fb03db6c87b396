"""tf.train.Example on the wire, written and read without TensorFlow or protobuf.

Example { Features features = 1 }     Features { map<string, Feature> feature = 1 }
Feature { oneof { BytesList = 1; FloatList = 2; Int64List = 3 } }, each `repeated … value = 1`,
numbers packed. A schema fixes the names, their order and the kinds, so most bytes are constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fitdoctor.pack.schema import BadElement, Feature, Schema

KIND_TAG = {"bytes": b"\x0a", "raw": b"\x0a", "float": b"\x12", "int64": b"\x1a"}
_TAG_1 = b"\x0a"  # field 1, length-delimited
_U64 = (1 << 64) - 1
# Lengths whose heads are kept; images of ever new lengths must not fill the memory.
_REMEMBERED = 1 << 16


@functools.lru_cache(1 << 14)  # labels and other small numbers come again and again
def varint(value: int) -> bytes:
    """A number in protobuf's variable length; negative ones as 64-bit two's complement."""
    value &= _U64
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encoder(schema: Schema) -> Callable[[dict[str, Any]], bytes]:
    """A function that writes one element that fits the schema as an Example.

    It raises BadElement for one that does not.
    """
    count = len(schema)
    fields = [(f.name, _head(f), _payload(f)) for f in schema]

    def encode(element: dict[str, Any]) -> bytes:
        if len(element) != count:
            raise BadElement("it has other values than the first element")
        parts: list[bytes] = [b""]
        total = 0
        for name, head, payload in fields:
            try:
                data = payload(element[name])
            except KeyError:
                raise BadElement(f"{name!r}, which the first element has, is missing") from None
            before = head(len(data))
            total += len(before) + len(data)
            parts += (before, data)
        parts[0] = _TAG_1 + varint(total)
        # The one copy of the data, which may be a large image.
        return b"".join(parts)

    return encode


def _head(feature: Feature) -> Callable[[int], bytes]:
    """All bytes of a feature before its data: they depend on nothing but the data's length."""
    name = feature.name.encode()
    key = _TAG_1 + varint(len(name)) + name + b"\x12"

    @functools.lru_cache(_REMEMBERED)
    def head(length: int) -> bytes:
        values = _TAG_1 + varint(length)
        kind = KIND_TAG[feature.storage] + varint(len(values) + length) + values
        entry = key + varint(len(kind) + length) + kind
        return _TAG_1 + varint(len(entry) + length) + entry

    return head


def _payload(feature: Feature) -> Callable[[Any], bytes]:
    dtype, shape = np.dtype(feature.dtype), feature.shape

    def wrong(value: Any) -> BadElement:
        is_array = isinstance(value, np.ndarray)
        received = f"{value.dtype} {list(value.shape)}" if is_array else type(value).__name__
        expected = f"{feature.dtype} {list(shape)}"
        return BadElement(f"{feature.name!r} is {received}; in the first element it is {expected}")

    def checked(value: Any) -> np.ndarray[Any, Any]:
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
            raise wrong(value)
        return value

    def as_bytes(value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise wrong(value)
        return value

    def as_raw(value: Any) -> bytes:
        return checked(value).tobytes()

    def as_varints(value: Any) -> bytes:
        array = checked(value)
        return b"".join(map(varint, array.ravel().tolist())) if shape else varint(array.item())

    return {"bytes": as_bytes, "int64": as_varints}.get(feature.storage, as_raw)


def decoder(schema: Schema) -> Callable[[bytes], dict[str, Any]]:
    """A function that reads an Example into bytes and NumPy arrays.

    It raises BadElement for one that does not fit the schema.
    """
    wanted = {feature.name.encode(): (feature.name, _value_reader(feature)) for feature in schema}

    def decode(data: bytes) -> dict[str, Any]:
        element: dict[str, Any] = {}
        try:
            for _, features in _fields(data):
                for _, entry in _fields(features):
                    (_, key), (_, feature) = _fields(entry)
                    ((kind, values),) = _fields(feature)
                    name, read = wanted[key]
                    element[name] = read(kind, values)
        except (ValueError, IndexError, KeyError) as error:
            raise BadElement(f"it is not an Example of this schema: {error!r}") from error
        if len(element) != len(wanted):
            raise BadElement("values are missing from it")
        return element

    return decode


def _value_reader(feature: Feature) -> Callable[[int, bytes], Any]:
    number = KIND_TAG[feature.storage][0]
    dtype = None if feature.dtype == "bytes" else np.dtype(feature.dtype).newbyteorder("<")
    shape, storage = feature.shape, feature.storage

    def read(kind: int, values: bytes) -> Any:
        if kind != number:
            raise ValueError(f"{feature.name!r} has the wrong kind of list")
        ((_, payload),) = _fields(values)
        if dtype is None:
            return payload
        if storage == "int64":
            return np.array(list(varints(payload)), np.int64).astype(dtype).reshape(shape)
        return np.frombuffer(payload, dtype).reshape(shape)

    return read


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a message: tag byte and contents."""
    at, end = 0, len(data)
    while at < end:
        tag = data[at]
        if tag & 7 != 2:
            raise ValueError(f"wire type {tag & 7} at byte {at}")
        length, at = data[at + 1], at + 2
        if length > 0x7F:
            length &= 0x7F
            shift = 7
            while True:
                byte, at = data[at], at + 1
                length |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
        if at + length > end:
            raise ValueError(f"a field of {length} bytes at byte {at} of {end}")
        yield tag, data[at : at + length]
        at += length


def varints(data: bytes) -> Iterator[int]:
    """The signed 64-bit numbers of a packed list."""
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= _U64
            yield value - (1 << 64) if value >> 63 else value
            value = shift = 0
        else:
            shift += 7
    if shift:
        raise ValueError("a number is cut off")
