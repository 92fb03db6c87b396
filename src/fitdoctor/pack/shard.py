"""Writes one shard: whole and checked under its name, or not there at all.

The bytes go to a part file, which is synced and renamed; then a receipt, also renamed into
place, says that the shard counts. A kill at any moment leaves a part file or a shard without a
receipt, and both are made again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.errors import OutputError
from fitdoctor.pack import checksum, tfrecord
from fitdoctor.pack.columns import Columns, encode_rows
from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import Schema
from fitdoctor.synced_files import sync_folder

FORMATS = ("tfrecord", "arrayrecord")
WORK_FOLDER = ".packing"
# Encoded elements that are written in one go.
WRITE_BYTES = 4 << 20


@dataclass(frozen=True)
class Options:
    """How to pack; what decides the bytes is part of a pack's identity."""

    file_format: str = "tfrecord"
    shard_bytes: int = 128_000_000
    map_spec: str | None = None
    skip_bad: bool = False
    workers: int = 1
    engine: str = "local"
    force: bool = False
    waits: bool = False  # for another process that writes to the same folder, however long


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
        skipped = [Skipped(**each) for each in data.get("skipped", ())]
        return Receipt(**{**data, "skipped": skipped})


class TFRecordFile:
    """A TFRecord file that is being written; `ArrayRecordFile` has the same methods."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by close()
        self._crc = 0

    def add(self, records: list[bytes]) -> bytes:
        """Append records in their frames and return their checksums, 4 bytes each."""
        footers = [tfrecord.footer(record) for record in records]
        parts: list[bytes] = []
        for record, footer in zip(records, footers, strict=True):
            parts += (tfrecord.header(len(record)), record, footer)
        self._write(b"".join(parts))
        return b"".join(footers)

    def add_rows(self, schema: Schema, columns: Columns) -> bytes:
        """Append a block of rows; the frames are filled in where they were left free."""
        head, foot = tfrecord.HEADER_BYTES, tfrecord.FOOTER_BYTES
        rows = encode_rows(schema, columns, before=head, after=foot)
        footers = b"".join(map(tfrecord.footer, rows.records(head)))
        kinds, which = np.unique(rows.lengths, return_inverse=True)
        headers = np.frombuffer(b"".join(map(tfrecord.header, kinds.tolist())), np.uint8)
        data = rows.data
        data[rows.starts[:, None] + np.arange(head)] = headers.reshape(-1, head)[which]
        after = rows.starts + head + rows.lengths
        sums = np.frombuffer(footers, np.uint8).reshape(-1, foot)
        data[after[:, None] + np.arange(foot)] = sums
        self._write(data.tobytes())
        return footers

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        # A raw file may take less than all, on a disk that is nearly full.
        while view:
            view = view[self._file.write(view) :]
        _, extend = checksum.functions()
        self._crc = extend(self._crc, data)

    def close(self) -> int:
        """Make it safe on the disk, and return its CRC32C."""
        os.fsync(self._file.fileno())
        self._file.close()
        return int(self._crc)

    def abandon(self) -> None:
        self._file.close()


class ArrayRecordFile:
    """An ArrayRecord file, one record per group so that each can be read by its number."""

    def __init__(self, path: Path) -> None:
        module = needed("array_record.python.array_record_module", "pack")
        self._path = path
        self._writer = module.ArrayRecordWriter(str(path), "group_size:1")

    def add(self, records: list[bytes]) -> bytes:
        """Append records and return their checksums, 4 bytes each."""
        for record in records:
            self._writer.write(record)
        return b"".join(map(tfrecord.footer, records))

    def add_rows(self, schema: Schema, columns: Columns) -> bytes:
        return self.add(list(encode_rows(schema, columns).records()))

    def close(self) -> int:
        self._writer.close()
        with open(self._path, "rb+") as file:
            os.fsync(file.fileno())
        return checksum.of_file(self._path)

    def abandon(self) -> None:
        try:
            self._writer.close()
        except Exception:  # noqa: BLE001 - the library's own error; the file is deleted
            pass


class ShardWriter:
    """One shard from its first record to its receipt."""

    def __init__(self, folder: Path, number: int, schema: Schema, options: Options) -> None:
        self._folder, self._number, self._schema = folder, number, schema
        self._name = f"shard-{number:05d}.{options.file_format}"
        # Nobody else has the name of this part file.
        self._part = folder / WORK_FOLDER / f"{self._name}.{os.getpid()}.part"
        kind = TFRecordFile if options.file_format == "tfrecord" else ArrayRecordFile
        self._records: TFRecordFile | ArrayRecordFile = kind(self._part)
        self._sums = bytearray()
        self._at_once = min(WRITE_BYTES, options.shard_bytes)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self.written = 0  # bytes of elements, without those that wait

    def add(self, record: bytes) -> None:
        """Append an encoded element; some are written in one go."""
        self._waiting.append(record)
        self._waiting_bytes += len(record)
        if self._waiting_bytes >= self._at_once:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._sums += self._records.add(self._waiting)
            self.written += self._waiting_bytes
            self._waiting, self._waiting_bytes = [], 0

    def add_rows(self, columns: Columns) -> None:
        """Append a block of rows that fits the schema."""
        self._flush()
        self._sums += self._records.add_rows(self._schema, columns)

    def finish(self, items: int, skipped: list[Skipped], images: dict[str, Any]) -> Receipt:
        """Put the shard and then its receipt in place."""
        self._flush()
        crc = self._records.close()
        value, _ = checksum.functions()
        receipt = Receipt(
            number=self._number,
            file=self._name,
            records=len(self._sums) // 4,
            bytes=self._part.stat().st_size,
            crc32c=crc,
            records_crc32c=int(value(bytes(self._sums))),
            items=items,
            skipped=skipped,
            images=images,
        )
        os.replace(self._part, self._folder / self._name)
        # Not synced: a receipt that a power cut takes only makes its shard be written again.
        write_json(receipt_path(self._folder, self._number), asdict(receipt), sync=False)
        return receipt

    def abandon(self) -> None:
        self._records.abandon()
        self._part.unlink(missing_ok=True)


@contextmanager
def shard_writer(
    folder: Path, number: int, schema: Schema, options: Options
) -> Iterator[ShardWriter]:
    """A writer that leaves nothing behind when something fails.

    Raises:
        OutputError: The disk does not take it.
    """
    try:
        writer = ShardWriter(folder, number, schema, options)
        try:
            yield writer
        except BaseException:
            writer.abandon()
            raise
    except OSError as error:
        raise not_written(folder, error) from error


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
