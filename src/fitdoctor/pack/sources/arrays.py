"""Arrays in files: .npy, .npz and HDF5; the first axis counts the elements."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.columns import Columns
from fitdoctor.pack.element import little_endian
from fitdoctor.pack.extras import needed
from fitdoctor.pack.sources.data_source import Block, Range, even_ranges

# Bytes that a block of rows holds at once.
BLOCK_BYTES = 8 << 20
_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
HDF5_SUFFIXES = (".h5", ".hdf5", ".hdf", ".he5")


@dataclass
class ArrayFile:
    """Rows of arrays that lie in one file."""

    path: Path
    names: dict[str, str]  # name of the feature -> name inside the file, "" for .npy
    count: int
    row_bytes: int

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "arrays",
            "path": str(self.path),
            "stamp": stamp(self.path),
            "names": self.names,
            "count": self.count,
        }

    def ranges(self, shard_bytes: int, at_least: int) -> list[Range]:
        """All rows have one size."""
        return even_ranges(self.count, self.row_bytes, shard_bytes, at_least)

    def blocks(self, part: Range) -> Iterator[Block]:
        rows = max(1, BLOCK_BYTES // max(1, self.row_bytes))
        with closing(_Open(self.path)) as file:
            arrays = {name: file.array(inner) for name, inner in self.names.items()}
            for start in range(part.start, part.stop, rows):
                stop = min(start + rows, part.stop)
                columns = {name: _rows(array, start, stop) for name, array in arrays.items()}
                yield _block(columns, start, stop)


def _block(columns: Columns, start: int, stop: int) -> Block:
    return Block(stop - start, columns=columns, name_of=lambda row: f"row {start + row}")


def _rows(array: Any, start: int, stop: int) -> Any:
    values = np.asarray(array[start:stop])
    if values.dtype.kind in "SUO" and values.ndim == 1:
        return [v if isinstance(v, bytes) else str(v).encode() for v in values.tolist()]
    return little_endian(values)


class _Open:
    """A file of arrays, read row by row rather than whole where its format allows it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hdf5: Any = None
        if path.suffix.lower() in HDF5_SUFFIXES:
            self._hdf5 = needed("h5py", "pack").File(path, "r")

    def array(self, inner: str) -> Any:
        if self._hdf5 is not None:
            return self._hdf5[inner]
        if not inner:
            return np.load(self._path, mmap_mode="r", allow_pickle=False)
        mapped = _mapped_member(self._path, inner + ".npy")
        if mapped is not None:
            return mapped
        with np.load(self._path, allow_pickle=False) as file:
            return file[inner]

    def close(self) -> None:
        if self._hdf5 is not None:
            self._hdf5.close()


def _mapped_member(path: Path, member: str) -> Any:
    """An array inside an uncompressed .npz, mapped; None for a compressed one."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        # The local header's own lengths of name and extra field count, not the directory's.
        file.seek(sum(struct.unpack("<HH", file.read(30)[26:])), os.SEEK_CUR)
        read = _HEADER_READERS.get(np.lib.format.read_magic(file))
        if read is None:
            return None
        shape, fortran, dtype = read(file)
        if dtype.hasobject or fortran or not all(shape):
            return None
        return np.memmap(path, dtype, "r", file.tell(), shape)


def open_arrays(path: Path, fields: tuple[str, ...]) -> ArrayFile:
    """Find the arrays of a file.

    Raises:
        UsageError: It cannot be read, or its arrays differ in length.
    """
    try:
        with closing(_Open(path)) as file:
            names = _names(path, file, fields)
            arrays = {name: file.array(inner) for name, inner in names.items()}
            lengths = {name: int(a.shape[0]) for name, a in arrays.items() if a.ndim}
            row_bytes = sum(
                int(a.dtype.itemsize * np.prod(a.shape[1:], dtype=np.int64))
                for a in arrays.values()
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"cannot read arrays from {path}: {error}",
            expected="an .npy, .npz or HDF5 file of arrays of numbers",
            advice="objects in arrays cannot be read, since that would run code",
        ) from error
    if len(lengths) < len(names) or len(set(lengths.values())) != 1:
        found = ", ".join(f"{name}: {lengths.get(name, 'one value')}" for name in names)
        raise UsageError(
            f"the arrays in {path} differ in length ({found})",
            expected="arrays with one row per element",
            advice="--fields with the names of those that belong together",
        )
    return ArrayFile(path, names, next(iter(lengths.values())), row_bytes)


def _names(path: Path, file: _Open, fields: tuple[str, ...]) -> dict[str, str]:
    if path.suffix.lower() == ".npy":
        return {"x": ""}
    if path.suffix.lower() == ".npz":
        with zipfile.ZipFile(path) as archive:
            found = [name.removesuffix(".npy") for name in archive.namelist()]
    else:
        found = []
        h5py = needed("h5py", "pack")

        def visit(name: str, what: Any) -> None:
            if isinstance(what, h5py.Dataset):
                found.append(name)

        file._hdf5.visititems(visit)
    return {name: name for name in chosen(found, fields, path)}


def chosen(found: list[str], fields: tuple[str, ...], path: Path) -> list[str]:
    """The names that were asked for, or all.

    Raises:
        UsageError: One that was asked for is not there, or there are none at all.
    """
    missing = [name for name in fields if name not in found]
    if missing or not found:
        what = f"there is no {', '.join(missing)} in {path}" if missing else f"{path} is empty"
        raise UsageError(what, expected=", ".join(found), advice="--fields with some of these")
    return list(fields) if fields else found


def stamp(path: Path) -> list[int]:
    """Size and time of a file: what tells that it is still the same."""
    facts = path.stat()
    return [facts.st_size, facts.st_mtime_ns]
