"""Scattered reads against contiguous ones of the same rows, from the user's own files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from typing import Any

from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, time_dataset
from fitdoctor.inside.lab.apparatus.memory import MEMORY_SHARE, available_bytes
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.seams.backends.base import NotAvailable
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk

BLOCKS = 12  # contiguous blocks read for comparison
# Of a dataset that are read into memory for a trial.
MOST_ROWS = 2048
MOST_BYTES = 1 << 26
PACKED_RECORDS = 600


def hdf5_reads(reads: Hdf5Reads, steps: int) -> Data:
    """What the rows of a batch cost as they are read, and as one block of each dataset."""
    datasets = reads.heaviest_first()
    if not datasets or not steps:
        raise NotAvailable("no HDF5 file was read during training")
    heaviest = datasets[0]
    blocks = 0
    for one in datasets:
        with sys.modules["h5py"].File(one.file, "r") as file:
            blocks += _block_ns(file[one.name], max(1, round(one.rows / steps)))
    with sys.modules["h5py"].File(heaviest.file, "r") as file:
        dataset = file[heaviest.name]
        chunks, compression = dataset.chunks, dataset.compression
        memory = _in_memory(dataset, max(1, round(heaviest.rows / steps)))
    place = heaviest.place
    if heaviest.openings == 1 and heaviest.opened is not None:
        memory["opened_file"] = heaviest.opened.file
        memory["opened_line"] = heaviest.opened.line
    return {
        "format": "HDF5",
        "ns": round(sum(one.ns for one in datasets) / steps),  # per batch
        "contiguous_ns": blocks,
        "rows": max(1, round(heaviest.rows / steps)),
        "reads_per_batch": round(sum(one.count for one in datasets) / steps, 2),
        "chunk_rows": chunks[0] if chunks else None,
        "compression": compression,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "dataset": heaviest.name,
        **memory,
    }


def _in_memory(dataset: Any, rows: int) -> Data:
    """What the rows would cost from memory, and whether the dataset fits into it."""
    numpy = sys.modules["numpy"]
    row_bytes = max(1, dataset.nbytes // max(1, dataset.shape[0]))
    part = dataset[: max(1, min(dataset.shape[0], MOST_ROWS, MOST_BYTES // row_bytes))]
    generator = numpy.random.default_rng(0)
    spent = []
    for _ in range(BLOCKS):
        chosen = numpy.sort(generator.integers(0, len(part), rows))
        begin = time.perf_counter_ns()
        part[chosen]
        spent.append(time.perf_counter_ns() - begin)
    free = available_bytes()
    return {
        "memory_ns": sorted(spent)[len(spent) // 2],
        "bytes": int(dataset.nbytes),
        "bytes_per_row": int(row_bytes),
        "fits": free is not None and dataset.nbytes <= MEMORY_SHARE * free,
    }


def _block_ns(dataset: Any, rows: int) -> int:
    """The median time to read that many rows side by side, from all over the file."""
    spent = []
    for block in range(BLOCKS):
        start = (block * 7919 * rows) % max(1, dataset.shape[0] - rows)
        begin = time.perf_counter_ns()
        dataset[start : start + rows]
        spent.append(time.perf_counter_ns() - begin)
    return sorted(spent)[len(spent) // 2]


def record_files(source: Stage, ns_per_record: float, iterators: Iterators) -> Data:
    """TFRecord files as they are, against the same records in one file."""
    tf = sys.modules["tensorflow"]
    names = getattr(source.dataset, "_filenames", None)
    if not isinstance(names, tf.data.Dataset):
        raise NotAvailable("the files of the dataset were not seen")
    files = [name.decode() for name in names.as_numpy_iterator()]
    records: list[bytes] = []
    opened = 0
    for name in files:
        if len(records) >= PACKED_RECORDS:
            break
        opened += 1
        records.extend(tf.data.TFRecordDataset(name).take(PACKED_RECORDS).as_numpy_iterator())
    if not records:
        raise NotAvailable("the files hold no records")
    folder = tempfile.mkdtemp(prefix="fitdoctor-")
    try:
        path = os.path.join(folder, "packed.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)
        packed = time_dataset(tf.data.TFRecordDataset(path), iterators)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "format": "TFRecord",
        "files": len(files),
        "records_per_file": len(records) / opened,
        "record_ns": round(ns_per_record),
        "packed_record_ns": round(packed.ns),
        "record_bytes": round(sum(map(len, records)) / len(records)),
        "keeps_order": not any(
            stage.reorders or stage.random or stage.op == "shuffle" for stage in walk(names)
        ),
        **_place(source),
    }


def _place(stage: Stage) -> dict[str, Any]:
    place = stage.place
    return {"file": place.file if place else None, "line": place.line if place else None}
