"""Reads a whole pack back and compares it with its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fitdoctor.pack import checksum, tfrecord
from fitdoctor.pack.example import decoder
from fitdoctor.pack.extras import needed
from fitdoctor.pack.job import Report
from fitdoctor.pack.manifest import Manifest
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.shard import Receipt

# ArrayRecord is asked for this many records at once.
_RECORDS_AT_ONCE = 1024


def verify(manifest: Manifest, report: Report | None = None) -> list[str]:
    """What is wrong, one sentence each; empty when all is as the manifest says."""
    wrong: list[str] = []
    for shard in manifest.shards:
        problem = _problem(manifest, shard)
        if problem:
            wrong.append(f"{manifest.folder / shard.file}: {problem}")
        if report is not None:
            report(shard.records, shard.bytes)
    listed = {shard.file for shard in manifest.shards}
    pattern = f"shard-*.{manifest.file_format}"
    wrong += [
        f"{path}: the manifest does not know it"
        for path in sorted(manifest.folder.glob(pattern))
        if path.name not in listed
    ]
    return wrong


def _problem(manifest: Manifest, shard: Receipt) -> str:
    path = manifest.folder / shard.file
    try:
        size = path.stat().st_size
        if size != shard.bytes:
            return f"it has {size} bytes; the manifest says {shard.bytes}"
        if checksum.of_file(path) != shard.crc32c:
            return "its checksum is not the manifest's"
        value, _ = checksum.functions()
        decode, sums, count = decoder(manifest.schema), bytearray(), 0
        for record in records_of(path, manifest.file_format):
            if manifest.schema:
                decode(record)
            sums += tfrecord.footer(record)
            count += 1
    except OSError as error:
        return error.strerror or str(error)
    except tfrecord.DamagedRecord as error:
        return str(error)
    except BadElement as error:
        return f"record {count}: {error}"
    if count != shard.records:
        return f"it has {count} records; the manifest says {shard.records}"
    if int(value(bytes(sums))) != shard.records_crc32c:
        return "its records are others than the manifest's"
    return ""


def records_of(path: Path, file_format: str) -> Iterator[bytes]:
    """The records of a shard, in order."""
    if file_format == "tfrecord":
        yield from tfrecord.read_records(path)
        return
    module = needed("array_record.python.array_record_module", "pack")
    try:
        reader = module.ArrayRecordReader(str(path))
        for start in range(0, reader.num_records(), _RECORDS_AT_ONCE):
            stop = min(start + _RECORDS_AT_ONCE, reader.num_records())
            yield from reader.read(start, stop)
        reader.close()
    except (RuntimeError, ValueError) as error:  # the library's way to say that it is damaged
        raise tfrecord.DamagedRecord(f"{path}: {error}") from error
