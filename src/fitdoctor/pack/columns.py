"""Many rows at once: Examples made by NumPy instead of row by row.

The rows of a block are laid side by side in one matrix of bytes, as wide as the longest row
could be, with a mask of the bytes that are really used; reading it through the mask gives the
rows one after another. Only checksums are left to a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fitdoctor.pack.example import KIND_TAG, varint
from fitdoctor.pack.schema import BadElement, Feature, Schema

Bytes = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]
Columns = dict[str, Any]  # arrays of n rows, or lists of n bytes values
# Wider rows gain nothing: copying them is what takes the time.
WIDEST_ROW_BYTES = 4096
_VARINT_BYTES = 10


@dataclass(frozen=True)
class Piece:
    """Bytes of every row: a matrix, of which each row uses the first `lengths`."""

    matrix: Bytes  # (rows, width); (1, width) when all rows have the same bytes
    lengths: Lengths | int  # one number when every row uses the whole width

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])


def constant(data: bytes) -> Piece:
    """The same bytes in every row."""
    return Piece(np.frombuffer(data, np.uint8)[None, :], len(data))


def numbers(values: Lengths | int) -> Piece:
    """One variable-length number per row."""
    if isinstance(values, int):
        return constant(varint(values))
    if len(values) and (values == values[0]).all():
        return constant(varint(int(values[0])))
    matrix, lengths = _varint_matrix(values.reshape(-1, 1))
    return Piece(matrix.reshape(len(values), -1), lengths[:, 0])


def _varint_matrix(values: npt.NDArray[np.int64]) -> tuple[Bytes, Lengths]:
    """Numbers of every row as (rows, numbers, 10 bytes), and the bytes each of them takes."""
    rest = values.astype(np.int64).view(np.uint64)
    matrix = np.zeros((*values.shape, _VARINT_BYTES), np.uint8)
    lengths = np.ones(values.shape, np.int64)
    for place in range(_VARINT_BYTES):
        matrix[..., place] = (rest & np.uint64(0x7F)).astype(np.uint8)
        rest = rest >> np.uint64(7)
        more = rest != 0
        if not more.any():
            matrix = matrix[..., : place + 1]
            break
        matrix[..., place] |= more.astype(np.uint8) << 7
        lengths += more
    return matrix, lengths


def fits(schema: Schema, columns: Columns) -> bool:
    """Whether there are rows with the schema's names, narrow enough to gain from this."""
    if set(columns) != {feature.name for feature in schema}:
        return False
    width = 0
    for feature in schema:
        column = columns[feature.name]
        if feature.storage == "bytes":
            width += max(map(len, column), default=0)
        else:
            width += feature.size * np.dtype(feature.dtype).itemsize
    return width <= WIDEST_ROW_BYTES and len(next(iter(columns.values()))) > 0


@dataclass(frozen=True)
class Rows:
    """Rows one after another, each with free bytes before and after it for a frame."""

    data: Bytes
    starts: Lengths
    lengths: Lengths  # without the frame

    def records(self, before: int = 0) -> Iterator[bytes]:
        """The bytes of each row, without the frame that begins `before` bytes earlier."""
        whole = self.data.tobytes()
        begins = self.starts + before
        ends = (begins + self.lengths).tolist()
        return (whole[a:b] for a, b in zip(begins.tolist(), ends, strict=True))


def encode_rows(schema: Schema, columns: Columns, *, before: int = 0, after: int = 0) -> Rows:
    """Examples of all rows of a block.

    Raises:
        BadElement: A column has another type or shape than the schema says.
    """
    rows = len(next(iter(columns.values())))
    entries = [_entry(feature, columns[feature.name], rows) for feature in schema]
    body = _field(b"\x0a", list(chain.from_iterable(entries)))
    lengths = np.broadcast_to(np.asarray(_total(body), np.int64), (rows,))
    framed = [constant(bytes(before)), *body, constant(bytes(after))]
    sizes = lengths + before + after
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    return Rows(_flat(framed, rows), starts, lengths)


def _total(pieces: list[Piece]) -> Lengths | int:
    return sum(piece.lengths for piece in pieces)


def _field(tag: bytes, pieces: list[Piece]) -> list[Piece]:
    """A field of a message: its tag, its length, its contents."""
    return [constant(tag), numbers(_total(pieces)), *pieces]


def _entry(feature: Feature, column: Any, rows: int) -> list[Piece]:
    """A feature of every row as an entry of the map."""
    name = feature.name.encode()
    key = constant(b"\x0a" + varint(len(name)) + name)
    values = _field(b"\x0a", _values(feature, column, rows))
    return _field(b"\x0a", [key, *_field(b"\x12", _field(KIND_TAG[feature.storage], values))])


def _values(feature: Feature, column: Any, rows: int) -> list[Piece]:
    if feature.storage == "bytes":
        return [_texts(column)]
    shape = (rows, *feature.shape)
    if column.dtype != np.dtype(feature.dtype) or column.shape != shape:
        raise BadElement(
            f"{feature.name!r} is {column.dtype} {list(column.shape[1:])}; in the first element "
            f"it is {feature.dtype} {list(feature.shape)}"
        )
    flat = np.ascontiguousarray(column).reshape(rows, -1)
    if feature.storage == "int64":
        matrix, lengths = _varint_matrix(flat)
        return [Piece(matrix[:, number], lengths[:, number]) for number in range(matrix.shape[1])]
    width = feature.size * flat.dtype.itemsize
    return [Piece(flat.view(np.uint8).reshape(rows, width), width)]


def _texts(column: list[bytes]) -> Piece:
    lengths = np.fromiter(map(len, column), np.int64, len(column))
    width = int(lengths.max(initial=0))
    matrix = np.zeros((len(column), width), np.uint8)
    matrix[np.arange(width) < lengths[:, None]] = np.frombuffer(b"".join(column), np.uint8)
    return Piece(matrix, lengths)


def _flat(pieces: list[Piece], rows: int) -> Bytes:
    width = sum(piece.width for piece in pieces)
    matrix = np.empty((rows, width), np.uint8)
    mask: npt.NDArray[np.bool_] | None = None
    at = 0
    for piece in pieces:
        end = at + piece.width
        matrix[:, at:end] = piece.matrix
        if not isinstance(piece.lengths, int):
            if mask is None:
                mask = np.ones((rows, width), np.bool_)
            mask[:, at:end] = np.arange(piece.width) < piece.lengths[:, None]
        at = end
    return matrix.reshape(-1) if mask is None else matrix[mask]
