"""The TFRecord format, without TensorFlow.

A file is records one after another, each: length (8 bytes, little endian), masked CRC32C of
these 8 bytes (4), the data, masked CRC32C of the data (4). A checksum is masked (rotated and
shifted by a constant) since sums of data that holds sums of itself are weak.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from pathlib import Path

from fitdoctor.pack import checksum

HEADER_BYTES = 12
FOOTER_BYTES = 4
_MASK_DELTA = 0xA282EAD8
_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
# A length that says more is damage: TensorFlow's own reader would try to allocate it.
MOST_RECORD_BYTES = 1 << 40


class DamagedRecord(ValueError):
    """Bytes that are not a whole record; the message says which and where."""


def masked(crc: int) -> int:
    """The form in which a checksum is stored."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


# Bounded: images of ever new lengths must not fill the memory.
@functools.lru_cache(1 << 16)
def header(length: int) -> bytes:
    """The 12 bytes before the data."""
    packed = _LENGTH.pack(length)
    return packed + footer(packed)


def footer(data: bytes) -> bytes:
    """The 4 bytes after the data: its masked checksum."""
    value, _ = checksum.functions()
    return _CRC.pack(masked(value(data)))


def read_records(path: Path) -> Iterator[bytes]:
    """The records of a file, each checked.

    Raises:
        DamagedRecord: A checksum is wrong or the file ends inside a record.
    """
    number, offset = 0, 0
    with open(path, "rb", buffering=1 << 20) as file:
        while head := file.read(HEADER_BYTES):
            where = f"record {number} at byte {offset} of {path}"
            if len(head) < HEADER_BYTES:
                raise DamagedRecord(f"{where}: the file ends inside its header")
            (length,) = _LENGTH.unpack(head[:8])
            if footer(head[:8]) != head[8:] or length > MOST_RECORD_BYTES:
                raise DamagedRecord(f"{where}: the checksum of its length is wrong")
            data, foot = file.read(length), file.read(FOOTER_BYTES)
            if len(data) < length or len(foot) < FOOTER_BYTES:
                raise DamagedRecord(f"{where}: the file ends inside it")
            if footer(data) != foot:
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
        while head := file.read(HEADER_BYTES):
            length = _LENGTH.unpack(head[:8])[0] if len(head) == HEADER_BYTES else size
            if at + HEADER_BYTES + length + FOOTER_BYTES > size:
                raise DamagedRecord(f"record {len(found)} at byte {at} of {path} is cut off")
            found.append((at + HEADER_BYTES, length))
            at += HEADER_BYTES + length + FOOTER_BYTES
            file.seek(at)
    return found
