"""The TFRecord format, without TensorFlow.

A file is records one after another, each: length (8 bytes, little endian), masked CRC32C of
these 8 bytes (4), the data, masked CRC32C of the data (4). A checksum is masked (rotated and
shifted by a constant) since sums of data that holds sums of itself are weak.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fitdoctor.pack import checksum

HEADER_BYTES = 12
FOOTER_BYTES = 4
_MASK_DELTA = 0xA282EAD8
_HEADER = struct.Struct("<QI")
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
# A length that says more is damage: TensorFlow's own reader would try to allocate it.
MOST_RECORD_BYTES = 1 << 40


class DamagedRecord(ValueError):
    """Bytes that are not a whole record; the message says which and where."""


def masked(crc: int) -> int:
    """The form in which a checksum is stored."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


class Framer:
    """Puts records into their frames; remembers the headers of lengths that it has seen."""

    def __init__(self) -> None:
        """Find the checksum functions once: they are called for every record."""
        self._value, _ = checksum.functions()
        self._headers: dict[int, bytes] = {}

    def header(self, length: int) -> bytes:
        """The 12 bytes before the data."""
        found = self._headers.get(length)
        if found is None:
            packed = _LENGTH.pack(length)
            found = packed + _CRC.pack(masked(self._value(packed)))
            self._headers[length] = found
        return found

    def footer(self, data: bytes) -> bytes:
        """The 4 bytes after the data."""
        return _CRC.pack(masked(self._value(data)))


def read_records(path: Path) -> Iterator[bytes]:
    """The records of a file, each checked.

    Raises:
        DamagedRecord: A checksum is wrong or the file ends inside a record.
    """
    with open(path, "rb", buffering=1 << 20) as file:
        yield from _records(file, str(path))


def _records(file: BinaryIO, name: str) -> Iterator[bytes]:
    value, _ = checksum.functions()
    number, offset = 0, 0
    while header := file.read(HEADER_BYTES):
        where = f"record {number} at byte {offset} of {name}"
        if len(header) < HEADER_BYTES:
            raise DamagedRecord(f"{where}: the file ends inside its header")
        length, crc = _HEADER.unpack(header)
        if masked(value(header[:8])) != crc or length > MOST_RECORD_BYTES:
            raise DamagedRecord(f"{where}: the checksum of its length is wrong")
        data, footer = file.read(length), file.read(FOOTER_BYTES)
        if len(data) < length or len(footer) < FOOTER_BYTES:
            raise DamagedRecord(f"{where}: the file ends inside it")
        if masked(value(data)) != _CRC.unpack(footer)[0]:
            raise DamagedRecord(f"{where}: the checksum of its data is wrong")
        yield data
        number, offset = number + 1, offset + HEADER_BYTES + length + FOOTER_BYTES


def offsets(path: Path) -> list[tuple[int, int]]:
    """Where each record's data begins, and its length; for reading in any order.

    Raises:
        DamagedRecord: The file ends inside a record.
    """
    found: list[tuple[int, int]] = []
    size, at = path.stat().st_size, 0
    with open(path, "rb", buffering=1 << 16) as file:
        while header := file.read(HEADER_BYTES):
            length = _LENGTH.unpack(header[:8])[0] if len(header) == HEADER_BYTES else size
            if at + HEADER_BYTES + length + FOOTER_BYTES > size:
                raise DamagedRecord(f"record {len(found)} at byte {at} of {path} is cut off")
            found.append((at + HEADER_BYTES, length))
            at += HEADER_BYTES + length + FOOTER_BYTES
            file.seek(at)
    return found
