"""A CSV file with a header: rows as columns, read by byte ranges that begin at rows."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.shard import Skipped
from fitdoctor.pack.sources.arrays import chosen, stamp
from fitdoctor.pack.sources.arrow_columns import columns_of
from fitdoctor.pack.sources.csv_rows import row_edges
from fitdoctor.pack.sources.data_source import SMALLEST_SHARD_BYTES, Block, Range
from fitdoctor.pack.sources.parquet import RowNames

# Rows that the types are taken from; a later row that does not fit is a bad item.
SAMPLE_BYTES = 1 << 20
# Bytes of text that become one block.
BLOCK_BYTES = 1 << 22


@dataclass
class CsvFile:
    """The rows of a CSV file; row 0 is the first one after the header."""

    path: Path
    names: list[str]
    types: dict[str, str]  # pyarrow's names
    fields: list[str]

    def facts(self) -> dict[str, Any]:
        """Which file, which columns, which types."""
        return {
            "kind": "csv",
            "path": str(self.path),
            "stamp": stamp(self.path),
            "types": self.types,
            "fields": self.fields,
        }

    def ranges(self, shard_bytes: int, at_least: int) -> list[Range]:
        """By bytes of text, cut where rows begin."""
        size = self.path.stat().st_size
        wanted = max(round(size / shard_bytes), min(at_least, size // SMALLEST_SHARD_BYTES), 1)
        edges = row_edges(self.path, -(-size // wanted))
        # Numbers count the header too, so the rows of a range begin one lower.
        return [
            Range(max(0, rows - 1), next_rows - 1, (at, until))
            for (at, rows), (until, next_rows) in itertools.pairwise(edges)
            if next_rows > 1
        ]

    def blocks(self, part: Range) -> Iterator[Block]:
        """Parse the bytes of the range, some rows at a time."""
        at, until = part.detail
        first = part.start
        with open(self.path, "rb") as file:
            file.seek(at)
            if at == 0:
                _skip_header(file)
            rest = until - file.tell()
            carried = b""
            while rest > 0 or carried:
                piece = carried + file.read(min(BLOCK_BYTES, rest))
                rest = until - file.tell()
                cut = len(piece) if rest <= 0 else _last_row_end(piece)
                text, carried = piece[:cut], piece[cut:]
                if cut == 0 and rest > 0:
                    continue
                block = self._block(text, first)
                first += block.items
                yield block

    def _block(self, text: bytes, first: int) -> Block:
        ragged: list[tuple[int | None, str]] = []
        try:
            table = self._parsed(text, ragged)
            if not ragged:
                columns, bad = columns_of(table)
                return self._whole(columns, bad, table.num_rows, first)
        except needed("pyarrow", "pack").ArrowInvalid:
            pass
        except BadElement as error:
            raise UsageError(f"{self.path}: {error}", advice="--fields without it") from error
        # Something is wrong in it: look at each row by itself, to name those that are bad.
        return self._row_by_row(text, first)

    def _parsed(self, text: bytes, ragged: list[tuple[int | None, str]]) -> Any:
        csv = needed("pyarrow.csv", "pack")

        def note(row: Any) -> str:
            ragged.append((row.number, row.text))
            return "skip"

        return csv.read_csv(
            io.BytesIO(text),
            read_options=csv.ReadOptions(
                column_names=self.names, use_threads=False, block_size=max(len(text), 1)
            ),
            parse_options=csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=note, ignore_empty_lines=True
            ),
            convert_options=csv.ConvertOptions(
                column_types=self.types, include_columns=self.fields, strings_can_be_null=False
            ),
        )

    def _whole(self, columns: Any, bad: dict[int, str], rows: int, first: int) -> Block:
        kept = [row for row in range(rows) if row not in bad] if bad else None
        return Block(
            rows,
            columns=columns,
            name_of=RowNames(self.path, first, kept),
            bad=[self._bad(first + row, why) for row, why in sorted(bad.items())],
        )

    def _bad(self, row: int, why: str) -> Skipped:
        return Skipped(f"row {row} of {self.path}", why)

    def _row_by_row(self, text: bytes, first: int) -> Block:
        import csv

        invalid = needed("pyarrow", "pack").ArrowInvalid
        block = Block(0)
        rows = csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""))
        for values in (row for row in rows if row):
            number = first + block.items
            block.items += 1
            if len(values) != len(self.names):
                why = f"it has {len(values)} values; the header has {len(self.names)}"
                block.bad.append(self._bad(number, why))
                continue
            try:
                columns, bad = columns_of(self._parsed(_line(values), []))
            except invalid as error:
                block.bad.append(self._bad(number, str(error)))
                continue
            if bad:
                block.bad.append(self._bad(number, bad[0]))
            else:
                element = {
                    name: column[0] if isinstance(column, list) else column[0, ...]
                    for name, column in columns.items()
                }
                block.elements.append((f"row {number} of {self.path}", element))
        return block


def _line(values: list[str]) -> bytes:
    import csv

    out = io.StringIO()
    csv.writer(out).writerow(values)
    return out.getvalue().encode("utf-8", "surrogateescape")


def _skip_header(file: Any) -> None:
    quotes = 0
    while line := file.readline():
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            return


def _last_row_end(piece: bytes) -> int:
    """The end of the last whole row of a piece that begins at a row; 0 when there is none."""
    end = len(piece)
    quotes = piece.count(b'"')
    while True:
        newline = piece.rfind(b"\n", 0, end)
        if newline < 0:
            return 0
        quotes -= piece.count(b'"', newline, end)
        if quotes % 2 == 0:
            return newline + 1
        end = newline


def open_csv(path: Path, fields: tuple[str, ...], types: dict[str, str]) -> CsvFile:
    """Take names from the header and types from the first rows.

    Raises:
        UsageError: It cannot be read as CSV, or a type or column is not known.
    """
    pa, csv = needed("pyarrow", "pack"), needed("pyarrow.csv", "pack")
    with open(path, "rb") as file:
        sample = file.read(SAMPLE_BYTES)
    if len(sample) == SAMPLE_BYTES:
        sample = sample[: _last_row_end(sample)]
    try:
        # A ragged row among the first ones is named later, with the others.
        found = csv.read_csv(
            io.BytesIO(sample),
            parse_options=csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=lambda row: "skip"
            ),
            convert_options=csv.ConvertOptions(strings_can_be_null=False),
        ).schema
    except pa.ArrowInvalid as error:
        raise UsageError(
            f"cannot read {path} as CSV: {error}",
            expected="UTF-8 text with a header, commas and one row per line",
            advice="a source of the form module:function can read other forms",
        ) from error
    names = list(found.names)
    if len(set(names)) < len(names):
        raise UsageError(f"the header of {path} has a name twice: {', '.join(names)}")
    kept = chosen(names, fields, path)
    inferred = {name: str(kind) for name, kind in zip(found.names, found.types, strict=True)}
    inferred = {name: "string" if kind == "null" else kind for name, kind in inferred.items()}
    chosen(names, tuple(types), path)
    for name, kind in types.items():
        try:
            pa.type_for_alias(kind)
        except ValueError as error:
            raise UsageError(f"--type {name}={kind}: {error}", expected="float32, int64, …") from (
                error
            )
    return CsvFile(path, names, inferred | types, kept)
