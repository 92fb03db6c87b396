"""What is noted of an HDF5 file: reads by dataset, and the line that opened it."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.inside.lab.probes.hdf5_reads import hdf5_reads
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads

h5py = pytest.importorskip("h5py")
np = pytest.importorskip("numpy")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(4000.0).reshape(1000, 4), chunks=(100, 4))
    return path


@pytest.fixture
def watched() -> Any:
    recorder = SimpleNamespace(patches=Patches(), suspended=False)
    reads = Hdf5Reads()
    reads.watch(recorder, h5py)  # type: ignore[arg-type]
    yield SimpleNamespace(reads=reads, recorder=recorder)
    recorder.patches.undo()


def test_reads_and_the_line_that_opened_the_dataset(path: Path, watched: Any) -> None:
    with h5py.File(path) as file:
        data, line = file["x"], inspect.currentframe().f_lineno  # type: ignore[union-attr]
        for start in (0, 500):
            data[[start, start + 7, start + 300]]
    (found,) = watched.reads.heaviest_first()
    assert (found.name, found.count, found.rows, found.openings) == ("/x", 2, 6, 1)
    assert (found.opened.file, found.opened.line) == (__file__, line)


def test_what_a_probe_reads_is_not_counted(path: Path, watched: Any) -> None:
    watched.recorder.suspended = True
    with h5py.File(path) as file:
        file["x"][:]
    assert watched.reads.heaviest_first() == []


def test_what_rows_would_cost_from_memory(path: Path, watched: Any) -> None:
    with h5py.File(path) as file:
        data = file["x"]
        data[[1, 2, 3]]
    watched.recorder.suspended = True
    found = hdf5_reads(watched.reads, steps=1)
    assert found.dataset == "/x"
    assert (found.bytes, found.bytes_per_row, found.fits) == (32_000, 32, True)
    assert found.memory_ns > 0
    assert found.opened_file == __file__


def test_a_dataset_that_is_opened_for_every_batch_has_no_one_line(path: Path, watched: Any) -> None:
    with h5py.File(path) as file:
        for start in (0, 500):
            file["x"][[start, start + 3]]
    watched.recorder.suspended = True
    assert hdf5_reads(watched.reads, steps=2).opened_file is None
