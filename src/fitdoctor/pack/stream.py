"""Packs elements that come one after another: one writer, shards as they fill up.

A pack that was interrupted reads the source from its beginning. The elements of finished shards
are encoded again and compared by checksum instead of written, so a source that gives others
this time is noticed rather than mixed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack import checksum, tfrecord
from fitdoctor.pack.job import Elements, bad_item, mapped
from fitdoctor.pack.schema import BadElement, Schema, schema_of
from fitdoctor.pack.shard import Receipt, ShardWriter, Skipped, not_written, read_receipt
from fitdoctor.pack.sources.data_source import Stream
from fitdoctor.pack.sources.function import load_function

_FLUSH_BYTES = 4 << 20


def first_schema(
    items: Iterator[tuple[str, Any]], map_spec: str | None, skip_bad: bool
) -> tuple[Schema | None, list[tuple[str, Any]]]:
    """The schema of the first good element, and the items that were read to find it.

    Raises:
        UsageError: The first one is bad, and bad ones are not left out.
    """
    function = load_function(map_spec) if map_spec else None
    read: list[tuple[str, Any]] = []
    for name, raw in items:
        read.append((name, raw))
        try:
            return schema_of(mapped(raw, function)), read
        except BadElement as error:
            if not skip_bad:
                raise bad_item(Skipped(name, str(error))) from error
    return None, read


def run_stream(
    source: Stream,
    folder: Path,
    *,
    file_format: str,
    shard_bytes: int,
    map_spec: str | None,
    skip_bad: bool,
    schema: Schema | None,
    on_schema: Callable[[Schema], object],
    report: Callable[[int, int], None],
) -> tuple[Schema | None, list[Receipt]]:
    """Write all shards, or those that are missing; `on_schema` is called before the first one.

    Raises:
        UsageError: An item is bad, or an interrupted source gives other elements now.
        OutputError: The disk does not take it.
    """
    items = _guarded(source.elements())
    if schema is None:
        schema, read = first_schema(items, map_spec, skip_bad)
        if schema is None:
            return None, []
        on_schema(schema)
        items = chain(read, items)
    elements = Elements(schema, map_spec, skip_bad)
    receipts: list[Receipt] = []
    while (receipt := read_receipt(folder, len(receipts))) is not None:
        _skip_same(receipt, items, elements, report)
        receipts.append(receipt)
    for first in items:
        rest = chain([first], items)
        receipts.append(
            _write(rest, folder, len(receipts), file_format, shard_bytes, elements, report)
        )
    return schema, receipts


def _guarded(items: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The items; an error of the user's code says after how many."""
    count = 0
    try:
        for item in items:
            yield item
            count += 1
    except (UsageError, GeneratorExit):
        raise
    except Exception as error:
        raise UsageError(
            f"item {count}: the source failed: {type(error).__name__}: {error}",
            expected="a source that can be read to its end",
            advice="fix it and run the same command again; a stream cannot continue after an error",
        ) from error


def _skip_same(
    receipt: Receipt,
    items: Iterator[tuple[str, Any]],
    elements: Elements,
    report: Callable[[int, int], None],
) -> None:
    value, _ = checksum.functions()
    sums, read, elements.skipped = bytearray(), 0, []
    while read < receipt.items and (item := next(items, None)) is not None:
        read += 1
        record = elements.record(*item)
        if record is not None:
            sums += tfrecord.masked(value(record)).to_bytes(4, "little")
            report(1, len(record))
    if read < receipt.items or int(value(bytes(sums))) != receipt.records_crc32c:
        raise UsageError(
            f"the source gives other elements than before, within {receipt.file}",
            expected="a source that gives the same elements in the same order each time",
            advice="seed its shuffling, or --force to start from scratch",
        )


def _write(
    items: Iterator[tuple[str, Any]],
    folder: Path,
    number: int,
    file_format: str,
    shard_bytes: int,
    elements: Elements,
    report: Callable[[int, int], None],
) -> Receipt:
    elements.skipped = []
    try:
        writer = ShardWriter(folder, number, file_format, elements.schema)
    except OSError as error:
        raise not_written(folder, error) from error
    try:
        records: list[bytes] = []
        read = size = waiting = 0
        for name, raw in items:
            read += 1
            record = elements.record(name, raw)
            if record is not None:
                records.append(record)
                waiting += len(record)
                report(1, len(record))
            if waiting >= min(_FLUSH_BYTES, shard_bytes):
                writer.add(records)
                records, size, waiting = [], size + waiting, 0
                if size >= shard_bytes:
                    break
        writer.add(records)
        writer.skipped = elements.skipped
        return writer.finish(read)
    except BaseException as error:
        writer.abandon()
        if isinstance(error, OSError):
            raise not_written(folder, error) from error
        raise
