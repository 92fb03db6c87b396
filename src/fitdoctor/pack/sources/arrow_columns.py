"""Columns of pyarrow as NumPy arrays and lists of bytes; rows that have no value are named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.pack.columns import Columns
from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import BadElement
from fitdoctor.pack.shard import Skipped
from fitdoctor.pack.sources.data_source import Block


def block_of(batch: Any, path: Path, first: int) -> Block:
    """The rows of a record batch or table, which begins at row `first` of a file.

    Raises:
        BadElement: A column has a type that cannot be stored.
    """
    columns: Columns = {}
    bad: dict[int, str] = {}
    for name in batch.schema.names:
        column = batch.column(name)
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        columns[name] = _column(name, column, bad)
    kept: Sequence[int] = range(batch.num_rows)
    if bad:
        keep = np.ones(batch.num_rows, np.bool_)
        keep[list(bad)] = False
        kept = np.flatnonzero(keep).tolist()
        columns = {
            name: [column[row] for row in kept] if isinstance(column, list) else column[keep]
            for name, column in columns.items()
        }
    return Block(
        batch.num_rows,
        columns=columns,
        # Rows that are left out count too.
        name_of=lambda row: f"row {first + kept[row]} of {path}",
        bad=[Skipped(f"row {first + row} of {path}", why) for row, why in sorted(bad.items())],
    )


def _column(name: str, column: Any, bad: dict[int, str]) -> Any:
    pa = needed("pyarrow", "pack")
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return _column(name, column.dictionary_decode(), bad)
    if types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False)  # no value is NaN, as everywhere
    _note_nulls(name, column, bad)
    if types.is_integer(kind) or types.is_boolean(kind):
        filled = column.fill_null(False if types.is_boolean(kind) else 0)
        return filled.to_numpy(zero_copy_only=False)
    if types.is_string(kind) or types.is_large_string(kind):
        binary = pa.large_binary() if types.is_large_string(kind) else pa.binary()
        return column.fill_null("").cast(binary).to_pylist()
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return [value if value is not None else b"" for value in column.to_pylist()]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _lists(name, column, bad)
    raise BadElement(f"the column {name!r} has the type {kind}, which cannot be stored")


def _note_nulls(name: str, column: Any, bad: dict[int, str]) -> None:
    if column.null_count:
        for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
            bad.setdefault(row, f"{name!r} has no value")


def _lists(name: str, column: Any, bad: dict[int, str]) -> Any:
    """Lists that all have the length of the first one, as a matrix; others are ragged."""
    values = column.to_pylist()
    width = next((len(value) for value in values if value is not None), 0)
    dtype = column.type.value_type.to_pandas_dtype()
    if not np.issubdtype(dtype, np.number) and dtype is not np.bool_:
        raise BadElement(f"the column {name!r} has lists of {column.type.value_type}")
    matrix = np.zeros((len(values), width), dtype)
    for row, value in enumerate(values):
        if value is None:
            continue
        if len(value) != width:
            bad.setdefault(row, f"{name!r} is a ragged list of {len(value)}, others have {width}")
        elif None in value:
            bad.setdefault(row, f"{name!r} has no value inside its list")
        else:
            matrix[row] = value
    return matrix
