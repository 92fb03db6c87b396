"""A Parquet file, or a folder of them: rows as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.sources.arrays import chosen, stamp
from fitdoctor.pack.sources.arrow_columns import block_of
from fitdoctor.pack.sources.data_source import Block, Range, even_ranges

BLOCK_ROWS = 16384
SUFFIXES = (".parquet", ".pq")


@dataclass
class ParquetFiles:
    """The rows of Parquet files, one file after another."""

    paths: list[Path]
    counts: list[int]
    fields: list[str]
    row_bytes: float

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "parquet",
            "files": [[str(path), *stamp(path)] for path in self.paths],
            "fields": self.fields,
            "count": sum(self.counts),
        }

    def ranges(self, shard_bytes: int, at_least: int) -> list[Range]:
        """By the mean size of a row."""
        return even_ranges(sum(self.counts), self.row_bytes, shard_bytes, at_least)

    def blocks(self, part: Range) -> Iterator[Block]:
        """The row groups that the range touches, cut to it."""
        first = 0
        for path, count in zip(self.paths, self.counts, strict=True):
            start, stop = max(part.start - first, 0), min(part.stop - first, count)
            if start < stop:
                yield from self._file(path, start, stop)
            first += count

    def _file(self, path: Path, start: int, stop: int) -> Iterator[Block]:
        file = needed("pyarrow.parquet", "pack").ParquetFile(path)
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        begins = np.concatenate(([0], np.cumsum(sizes)))
        groups = [n for n in range(len(sizes)) if begins[n] < stop and begins[n + 1] > start]
        at = int(begins[groups[0]])
        batches = file.iter_batches(BLOCK_ROWS, row_groups=groups, columns=self.fields)
        for batch in batches:
            low = max(start, at)
            cut = batch.slice(low - at, max(0, min(stop, at + batch.num_rows) - low))
            at += batch.num_rows
            if cut.num_rows:
                yield _block(cut, path, low)


def _block(batch: Any, path: Path, first: int) -> Block:
    try:
        return block_of(batch, path, first)
    except BadElement as error:
        raise UsageError(
            f"{path}: {error}",
            expected="numbers, texts, bytes, and lists of numbers",
            advice="--fields with the columns that can be stored",
        ) from error


def open_parquet(path: Path, fields: tuple[str, ...]) -> ParquetFiles:
    """Look at the files.

    Raises:
        UsageError: One of them is no Parquet file, or they have different columns.
    """
    parquet = needed("pyarrow.parquet", "pack")
    errors = needed("pyarrow", "pack").ArrowException
    paths = sorted(p for p in path.iterdir() if p.suffix in SUFFIXES) if path.is_dir() else [path]
    counts: list[int] = []
    names: list[str] = []
    size = 0
    for each in paths:
        try:
            metadata = parquet.ParquetFile(each).metadata
        except (OSError, errors) as error:
            raise UsageError(f"cannot read {each} as Parquet: {error}") from error
        names = names or metadata.schema.to_arrow_schema().names
        missing = set(names) - set(metadata.schema.to_arrow_schema().names)
        if missing:
            raise UsageError(
                f"{each} has no column {', '.join(sorted(missing))}",
                expected=f"the columns of {paths[0]}",
                advice="--fields with the columns that all files have",
            )
        counts.append(metadata.num_rows)
        size += sum(metadata.row_group(n).total_byte_size for n in range(metadata.num_row_groups))
    kept = chosen(names, fields, path)
    return ParquetFiles(paths, counts, kept, size / max(1, sum(counts)))
