"""Writes one shard: whole and checked under its name, or not there at all.

The bytes go to a part file, which is synced and renamed; then a receipt, also renamed into
place, says that the shard counts. A kill at any moment leaves a part file or a shard without a
receipt, and both are made again.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fitdoctor.contract.errors import OutputError
from fitdoctor.pack import checksum, tfrecord
from fitdoctor.pack.columns import Columns, encode_rows
from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import Schema
from fitdoctor.synced_files import sync_folder

FORMATS = ("tfrecord", "arrayrecord")
WORK_FOLDER = ".packing"


@dataclass(frozen=True)
class Skipped:
    """An item that was left out."""

    item: str
    reason: str


@dataclass(frozen=True)
class Receipt:
    """What a finished shard holds."""

    number: int
    file: str
    records: int
    bytes: int
    crc32c: int  # of the file
    records_crc32c: int  # of the records' own checksums, each 4 bytes, in order
    items: int  # of the source, those left out too
    skipped: list[Skipped] = field(default_factory=list)
    images: dict[str, Any] = field(default_factory=dict)  # what encoded images agree on

    @staticmethod
    def from_json(data: dict[str, Any]) -> Receipt:
        """Read from a receipt or a manifest."""
        skipped = [Skipped(**each) for each in data.get("skipped", ())]
        return Receipt(**{**data, "skipped": skipped})


class RecordFile(Protocol):
    """A file of records that is being written."""

    def add(self, records: list[bytes]) -> bytes:
        """Append records and return their checksums, 4 bytes each."""

    def add_rows(self, schema: Schema, columns: Columns) -> bytes:
        """Append a block of rows and return their checksums."""

    def close(self) -> int:
        """Make it safe on the disk, and return its CRC32C."""

    def abandon(self) -> None:
        """Close without caring about what is in it."""


class TFRecordFile:
    """A TFRecord file."""

    def __init__(self, path: Path) -> None:
        """Create the file."""
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by close()
        self._framer = tfrecord.Framer()
        self._value, self._extend = checksum.functions()
        self._crc = 0

    def add(self, records: list[bytes]) -> bytes:
        """Append records in their frames."""
        footers = [self._framer.footer(record) for record in records]
        header = self._framer.header
        parts: list[bytes] = []
        for record, footer in zip(records, footers, strict=True):
            parts += (header(len(record)), record, footer)
        self._write(b"".join(parts))
        return b"".join(footers)

    def add_rows(self, schema: Schema, columns: Columns) -> bytes:
        """Append a block of rows; the frames are filled in where they were left free."""
        head, foot = tfrecord.HEADER_BYTES, tfrecord.FOOTER_BYTES
        rows = encode_rows(schema, columns, before=head, after=foot)
        whole = rows.data.tobytes()
        value, masked = self._value, tfrecord.masked
        begins = (rows.starts + head).tolist()
        ends = (rows.starts + head + rows.lengths).tolist()
        sums = [masked(value(whole[a:b])) for a, b in zip(begins, ends, strict=True)]
        footers = np.array(sums, "<u4")
        kinds, which = np.unique(rows.lengths, return_inverse=True)
        headers = np.frombuffer(b"".join(map(self._framer.header, kinds.tolist())), np.uint8)
        data = rows.data
        data[rows.starts[:, None] + np.arange(head)] = headers.reshape(-1, head)[which]
        after = rows.starts + head + rows.lengths
        data[after[:, None] + np.arange(foot)] = footers.view(np.uint8).reshape(-1, foot)
        self._write(data.tobytes())
        return footers.tobytes()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        # A raw file may take less than all, on a disk that is nearly full.
        while view:
            view = view[self._file.write(view) :]
        self._crc = self._extend(self._crc, data)

    def close(self) -> int:
        """Sync and close."""
        os.fsync(self._file.fileno())
        self._file.close()
        return int(self._crc)

    def abandon(self) -> None:
        """Close without caring about what is in it."""
        self._file.close()


class ArrayRecordFile:
    """An ArrayRecord file, one record per group so that each can be read by its number."""

    def __init__(self, path: Path) -> None:
        """Create the file."""
        module = needed("array_record.python.array_record_module", "pack")
        self._path = path
        self._writer = module.ArrayRecordWriter(str(path), "group_size:1")
        self._value, _ = checksum.functions()

    def add(self, records: list[bytes]) -> bytes:
        """Append records."""
        for record in records:
            self._writer.write(record)
        sums = [tfrecord.masked(self._value(record)) for record in records]
        return np.array(sums, "<u4").tobytes()

    def add_rows(self, schema: Schema, columns: Columns) -> bytes:
        """Append a block of rows."""
        rows = encode_rows(schema, columns)
        whole = rows.data.tobytes()
        ends = (rows.starts + rows.lengths).tolist()
        return self.add([whole[a:b] for a, b in zip(rows.starts.tolist(), ends, strict=True)])

    def close(self) -> int:
        """Finish, sync and sum up the file."""
        self._writer.close()
        with open(self._path, "rb+") as file:
            os.fsync(file.fileno())
        return checksum.of_file(self._path)

    def abandon(self) -> None:
        """Close without caring about what is in it."""
        try:
            self._writer.close()
        except Exception:  # noqa: BLE001 - the library's own error; the file is deleted
            pass


class ShardWriter:
    """One shard from its first record to its receipt."""

    def __init__(self, folder: Path, number: int, file_format: str, schema: Schema) -> None:
        """Open a part file; nobody else has its name."""
        self._folder, self._number, self._schema = folder, number, schema
        self.file = shard_name(number, file_format)
        self._part = folder / WORK_FOLDER / f"{self.file}.{os.getpid()}.part"
        kind = TFRecordFile if file_format == "tfrecord" else ArrayRecordFile
        self._records: RecordFile = kind(self._part)
        self._sums = bytearray()
        self.skipped: list[Skipped] = []
        self.images: dict[str, Any] = {}

    @property
    def count(self) -> int:
        """Records so far."""
        return len(self._sums) // 4

    def add(self, records: list[bytes]) -> None:
        """Append encoded elements."""
        if records:
            self._sums += self._records.add(records)

    def add_rows(self, columns: Columns) -> None:
        """Append a block of rows that fits the schema."""
        self._sums += self._records.add_rows(self._schema, columns)

    def finish(self, items: int) -> Receipt:
        """Put the shard and then its receipt in place."""
        crc = self._records.close()
        final = self._folder / self.file
        value, _ = checksum.functions()
        receipt = Receipt(
            number=self._number,
            file=self.file,
            records=self.count,
            bytes=self._part.stat().st_size,
            crc32c=crc,
            records_crc32c=int(value(bytes(self._sums))),
            items=items,
            skipped=self.skipped,
            images=self.images,
        )
        os.replace(self._part, final)
        # Not synced: a receipt that a power cut takes only makes its shard be written again.
        write_json(receipt_path(self._folder, self._number), asdict(receipt), sync=False)
        return receipt

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._records.abandon()
        self._part.unlink(missing_ok=True)


def shard_name(number: int, file_format: str) -> str:
    """The file name of a shard."""
    return f"shard-{number:05d}.{file_format}"


def receipt_path(folder: Path, number: int) -> Path:
    """Where the receipt of a shard is kept until the manifest is written."""
    return folder / WORK_FOLDER / f"shard-{number:05d}.json"


def read_receipt(folder: Path, number: int) -> Receipt | None:
    """The receipt of a shard that is whole, or None: then it has to be made again."""
    try:
        receipt = Receipt.from_json(json.loads(receipt_path(folder, number).read_bytes()))
        size = (folder / receipt.file).stat().st_size
    except (OSError, ValueError, TypeError):
        return None
    return receipt if size == receipt.bytes else None


def write_json(path: Path, data: Any, *, sync: bool = True) -> None:
    """Write a file of ours, all of it or nothing, and wait for the disk where it matters.

    Raises:
        OutputError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> OutputError:
    """What to say when the disk does not take it."""
    return OutputError(
        f"cannot write {path}: {error.strerror or error}",
        expected="room on the disk and permission to write",
        advice="make room and give the same command again: finished shards are kept",
    )
