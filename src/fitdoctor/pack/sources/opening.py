"""Finds out what kind of source a path or name is."""

from __future__ import annotations

from pathlib import Path

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.sources import parquet
from fitdoctor.pack.sources.arrays import HDF5_SUFFIXES, open_arrays
from fitdoctor.pack.sources.csv_file import open_csv
from fitdoctor.pack.sources.data_source import Source, Stream
from fitdoctor.pack.sources.folder import open_folder
from fitdoctor.pack.sources.function import open_function

KINDS = "a folder of images, .csv, .parquet, .npy, .npz, .h5, or module:function"


def open_source(
    spec: str,
    *,
    fields: tuple[str, ...] = (),
    types: dict[str, str] | None = None,
    decode: bool = False,
    size: tuple[int, int] | None = None,
    unbatch: bool = False,
) -> Source | Stream:
    """The source that a person named.

    Raises:
        UsageError: There is none, or it is of no known kind.
    """
    path = Path(spec).expanduser()
    suffix = path.suffix.lower()
    if path.is_dir():
        if any(entry.suffix in parquet.SUFFIXES for entry in path.iterdir()):
            return parquet.open_parquet(path, fields)
        return open_folder(path.resolve(), decode=decode, size=size)
    if path.is_file():
        path = path.resolve()
        if suffix == ".csv":
            return open_csv(path, fields, types or {})
        if suffix in parquet.SUFFIXES:
            return parquet.open_parquet(path, fields)
        if suffix in (".npy", ".npz", *HDF5_SUFFIXES):
            return open_arrays(path, fields)
        raise UsageError(f"{spec} is of no known kind", expected=KINDS)
    module, colon, name = spec.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), name)):
        return open_function(spec, unbatch=unbatch)
    raise UsageError(f"there is no {spec}", expected=KINDS)
