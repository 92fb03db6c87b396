"""A CSV file with a header: rows as columns, read by byte ranges that begin at rows."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.shard import Skipped
from fitdoctor.pack.sources.arrays import chosen, stamp
from fitdoctor.pack.sources.arrow_columns import block_of
from fitdoctor.pack.sources.data_source import SMALLEST_SHARD_BYTES, Block, Range

# Rows that the types are taken from; a later row that does not fit is a bad item.
SAMPLE_BYTES = 1 << 20
# Bytes that are searched for row ends at once.
PIECE_BYTES = 1 << 24
_NEWLINE, _QUOTE = ord("\n"), ord('"')
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
            carried = b""
            while (rest := until - file.tell()) > 0:
                piece = carried + file.read(min(BLOCK_BYTES, rest))
                cut = _last_row_end(piece) if file.tell() < until else len(piece)
                carried = piece[cut:]
                if cut:
                    block = self._block(piece[:cut], first)
                    first += block.items
                    yield block

    def _block(self, text: bytes, first: int) -> Block:
        try:
            return block_of(self._parsed(text), self.path, first)
        except needed("pyarrow", "pack").ArrowInvalid:
            # Something is wrong in it: look at each row by itself, to name those that are bad.
            return self._row_by_row(text, first)
        except BadElement as error:
            raise UsageError(f"{self.path}: {error}", advice="--fields without it") from error

    def _parsed(self, text: bytes) -> Any:
        arrow = needed("pyarrow.csv", "pack")
        return arrow.read_csv(
            io.BytesIO(text),
            read_options=arrow.ReadOptions(
                column_names=self.names, use_threads=False, block_size=max(len(text), 1)
            ),
            parse_options=arrow.ParseOptions(newlines_in_values=True, ignore_empty_lines=True),
            convert_options=arrow.ConvertOptions(
                column_types=self.types, include_columns=self.fields, strings_can_be_null=False
            ),
        )

    def _row_by_row(self, text: bytes, first: int) -> Block:
        invalid = needed("pyarrow", "pack").ArrowInvalid
        block = Block(0)
        rows = csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""))
        for values in (row for row in rows if row):
            number = first + block.items
            block.items += 1
            try:
                if len(values) != len(self.names):
                    why = f"it has {len(values)} values; the header has {len(self.names)}"
                    raise invalid(why)
                row = block_of(self._parsed(_line(values)), self.path, number)
                block.bad += row.bad
                block.elements += row.each()
            except invalid as error:
                block.bad.append(Skipped(f"row {number} of {self.path}", str(error)))
        return block


def _line(values: list[str]) -> bytes:
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


def row_edges(path: Path, shard_bytes: int) -> list[tuple[int, int]]:
    """Pairs (byte, rows before it) at the first row and about every `shard_bytes` after it.

    The header counts as row 0, so the first pair is (0, 0). The last pair is the end.
    """
    edges = [(0, 0)]
    inside = False  # whether the piece begins within quotes
    at = rows = 0
    last = b"\n"
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            data = np.frombuffer(piece, np.uint8)
            ends = np.flatnonzero(data == _NEWLINE)
            quotes = np.flatnonzero(data == _QUOTE)
            if len(quotes) or inside:
                # A doubled quote inside a text toggles twice, so parity is all that counts.
                before = np.searchsorted(quotes, ends) + inside
                ends = ends[before % 2 == 0]
            while True:
                wanted = edges[-1][0] + shard_bytes - at
                number = int(np.searchsorted(ends, wanted))
                if number >= len(ends):
                    break
                edges.append((at + int(ends[number]) + 1, rows + number + 1))
            rows += len(ends)
            inside = bool((len(quotes) + inside) % 2)
            at += len(piece)
            last = piece[-1:]
    if last != b"\n":
        rows += 1  # the last row needs no line end
    if edges[-1][0] != at:
        edges.append((at, rows))
    return edges


def open_csv(path: Path, fields: tuple[str, ...], types: dict[str, str]) -> CsvFile:
    """Take names from the header and types from the first rows.

    Raises:
        UsageError: It cannot be read as CSV, or a type or column is not known.
    """
    pa, arrow = needed("pyarrow", "pack"), needed("pyarrow.csv", "pack")
    with open(path, "rb") as file:
        sample = file.read(SAMPLE_BYTES)
    if len(sample) == SAMPLE_BYTES:
        sample = sample[: _last_row_end(sample)]
    try:
        # A ragged row among the first ones is named later, with the others.
        found = arrow.read_csv(
            io.BytesIO(sample),
            parse_options=arrow.ParseOptions(
                newlines_in_values=True, invalid_row_handler=lambda row: "skip"
            ),
            convert_options=arrow.ConvertOptions(strings_can_be_null=False),
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
    kinds = ["string" if str(kind) == "null" else str(kind) for kind in found.types]
    chosen(names, tuple(types), path)
    for name, kind in types.items():
        try:
            pa.type_for_alias(kind)
        except ValueError as error:
            expected = "float32, int64, …"
            raise UsageError(f"--type {name}={kind}: {error}", expected=expected) from error
    return CsvFile(path, names, dict(zip(names, kinds, strict=True)) | types, kept)
