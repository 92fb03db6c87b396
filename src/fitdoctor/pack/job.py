"""What a worker does: read the items of a range, preprocess, check, encode, write one shard."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.columns import fits
from fitdoctor.pack.element import normal
from fitdoctor.pack.encoded_images import agreed
from fitdoctor.pack.example import encoder
from fitdoctor.pack.schema import BadElement, Schema, difference, schema_of
from fitdoctor.pack.shard import Options, Receipt, ShardWriter, Skipped, shard_writer
from fitdoctor.pack.sources.data_source import Block, Range, Source
from fitdoctor.pack.sources.function import load_function

Report = Callable[[int, int], None]  # of items and bytes, as they are written


@dataclass(frozen=True)
class Job:
    """All that a worker needs to know; it travels to other processes and machines."""

    source: Source
    folder: Path
    schema: Schema
    options: Options


class Elements:
    """Turns raw elements into records; keeps count of those that are bad."""

    def __init__(self, schema: Schema, options: Options) -> None:
        self.schema = schema
        self.map = load_function(options.map_spec) if options.map_spec else None
        self.skipped: list[Skipped] = []
        self._encode = encoder(schema)
        self.options = options

    def record(self, name: str, raw: Any, *, is_normal: bool = False) -> bytes | None:
        """An element as an Example, or None when it was left out.

        Raises:
            UsageError: It is bad, and bad ones are not left out.
        """
        if not self.schema:
            return bytes(raw)  # a record already
        try:
            return self._encode(raw if is_normal and not self.map else mapped(raw, self.map))
        except BadElement as error:
            self.leave_out(Skipped(name, self._reason(raw, str(error))))
            return None

    def _reason(self, raw: Any, reason: str) -> str:
        """In the words of the whole schema, where the element can be seen as a whole."""
        try:
            return difference(self.schema, schema_of(mapped(raw, self.map))) or reason
        except BadElement:
            return reason

    def leave_out(self, bad: Skipped) -> None:
        """Note an item that cannot be stored.

        Raises:
            UsageError: Bad items are not left out.
        """
        if not self.options.skip_bad:
            raise bad_item(bad)
        self.skipped.append(bad)


def bad_item(bad: Skipped) -> UsageError:
    """What to say about an item that cannot be stored."""
    return UsageError(
        f"{bad.item}: {bad.reason}",
        expected="items that can be read and are all of one schema",
        advice="the same command with --skip-bad leaves out such items; or fix it and start again "
        "with --force",
    )


def mapped(raw: Any, function: Callable[[Any], Any] | None) -> dict[str, Any]:
    """An element after the user's function, in the normal form.

    Raises:
        BadElement: The function failed, or made something that cannot be stored.
    """
    if function is None:
        return normal(raw)
    try:
        made = function(raw)
    except Exception as error:
        raise BadElement(f"the map failed: {type(error).__name__}: {error}") from error
    if made is None:
        raise BadElement("the map returned nothing")
    return normal(made)


def write_shard(job: Job, number: int, part: Range, report: Report | None = None) -> Receipt:
    """Write the shard of a range.

    Raises:
        UsageError: An item is bad, and bad ones are not left out.
        OutputError: The disk does not take it.
    """
    elements = Elements(job.schema, job.options)
    images: dict[str, Any] = {}
    items = 0
    with shard_writer(job.folder, number, job.schema, job.options) as writer:
        for block in job.source.blocks(part):
            written = _write_block(writer, elements, block)
            items += block.items
            images = functools.reduce(agreed, block.images, images)
            if report is not None:
                report(block.items, written)
        return writer.finish(items, elements.skipped, images)


def _write_block(writer: ShardWriter, elements: Elements, block: Block) -> int:
    for bad in block.bad:
        elements.leave_out(bad)
    columns = block.columns
    if columns is not None and not elements.map and fits(elements.schema, columns):
        try:
            writer.add_rows(columns)
            return sum(_column_bytes(column) for column in columns.values())
        except BadElement:
            pass  # one by one, to say which element it is
    total = 0
    for name, raw in block.each():
        record = elements.record(name, raw, is_normal=block.is_normal or columns is not None)
        if record is not None:
            writer.add(record)
            total += len(record)
    return total


def _column_bytes(column: Any) -> int:
    return sum(map(len, column)) if isinstance(column, list) else int(column.nbytes)
