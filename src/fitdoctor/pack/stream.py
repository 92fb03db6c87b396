"""Packs elements that come one after another: one writer, shards as they fill up.

A pack that was interrupted reads the source from its beginning. The elements of finished shards
are encoded again and compared by checksum instead of written, so a source that gives others
this time is noticed rather than mixed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack import checksum, tfrecord
from fitdoctor.pack.job import Elements, Report, mapped
from fitdoctor.pack.schema import BadElement, Schema, schema_of
from fitdoctor.pack.shard import Options, Receipt, Skipped, read_receipt, shard_writer
from fitdoctor.pack.sources.data_source import Stream

Item = tuple[str, Any]  # name and raw element


def first_schema(items: Iterator[Item], options: Options) -> tuple[Schema, list[Item]]:
    """The schema of the first good element, and the items that were read to find it.

    Raises:
        UsageError: There is none, or the first one is bad, and bad ones are not left out.
    """
    elements, read = Elements((), options), []
    for name, raw in items:
        read.append((name, raw))
        try:
            return schema_of(mapped(raw, elements.map)), read
        except BadElement as error:
            elements.leave_out(Skipped(name, str(error)))
    raise _empty()


def _empty() -> UsageError:
    return UsageError(
        "the source has no element that can be packed",
        expected="at least one good element",
        advice="without --skip-bad the first bad one is named",
    )


def run_stream(
    source: Stream,
    folder: Path,
    options: Options,
    schema: Schema | None,
    on_schema: Callable[[Schema], object],
    report: Report,
) -> tuple[Schema, list[Receipt], int]:
    """Write all shards, or those that are missing; `on_schema` is called before the first one.

    Returns:
        The schema, the receipts of all shards, and how many of these were finished before.

    Raises:
        UsageError: An item is bad, or an interrupted source gives other elements now.
        OutputError: The disk does not take it.
    """
    items = _guarded(source.elements())
    if schema is None:
        schema, read = first_schema(items, options)
        on_schema(schema)
        items = chain(read, items)
    receipts: list[Receipt] = []
    while (receipt := read_receipt(folder, len(receipts))) is not None:
        _skip_same(receipt, items, Elements(schema, options), report)
        receipts.append(receipt)
    kept = len(receipts)
    for first in items:
        rest, elements = chain([first], items), Elements(schema, options)
        receipts.append(_write(rest, folder, len(receipts), elements, report))
    if not receipts:
        raise _empty()
    return schema, receipts, kept


def _guarded(items: Iterator[Item]) -> Iterator[Item]:
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


def _skip_same(receipt: Receipt, items: Iterator[Item], elements: Elements, report: Report) -> None:
    value, _ = checksum.functions()
    sums, read = bytearray(), 0
    for name, raw in islice(items, receipt.items):
        read += 1
        record = elements.record(name, raw)
        if record is not None:
            sums += tfrecord.footer(record)
            report(1, len(record))
    if read < receipt.items or int(value(bytes(sums))) != receipt.records_crc32c:
        raise UsageError(
            f"the source gives other elements than before, within {receipt.file}",
            expected="a source that gives the same elements in the same order each time",
            advice="seed its shuffling, or --force to start from scratch",
        )


def _write(
    items: Iterator[Item], folder: Path, number: int, elements: Elements, report: Report
) -> Receipt:
    read = 0
    with shard_writer(folder, number, elements.schema, elements.options) as writer:
        for name, raw in items:
            read += 1
            record = elements.record(name, raw)
            if record is not None:
                writer.add(record)
                report(1, len(record))
            if writer.written >= elements.options.shard_bytes:
                break
        return writer.finish(read, elements.skipped, {})
