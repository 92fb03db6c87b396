"""Preprocessing that is the same in every pass and outgrows memory, read from a file instead."""

from __future__ import annotations

import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.evidence.pipeline import Packed
from fitdoctor.contract.stored_tensors import as_records, from_records, not_storable
from fitdoctor.inside.lab.apparatus.cache_point import CachePoint
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.inputs.tf_pipeline import substituted

WRITE_S = 2.0
MOST_BYTES = 256 * 2**20
# A trial that fills the last of a disk would do harm.
ROOM_LEFT = 4
_PIECE = 1 << 20


class KeepOnDisk(PipelineProbe[Packed]):
    after = ("trial_cache",)

    def is_worth(self, bench: PipelineBench) -> bool:
        point = CachePoint(bench)
        return point.stage() is not None and point.outgrows_memory()

    def tried(self, bench: PipelineBench) -> Packed:
        point = CachePoint(bench)
        stage, per_batch = point.kept()
        tf, spec = sys.modules["tensorflow"], stage.dataset.element_spec
        reason = not_storable(tf, spec)
        if reason:
            raise NotAvailable(reason)
        with stored(stage.dataset, at_least=math.ceil(2 * per_batch)) as part:
            read = from_records(tf, tf.data.TFRecordDataset(part.path), spec).repeat()
            return Packed(
                **bench.timed(substituted(bench.dataset, stage.dataset, read)),
                **point.fields(stage, per_batch),
                element_bytes=part.count_bytes / part.elements,
                write_ns=part.write_ns / part.elements,
                disk_ns=per_batch * part.cold_ns / part.elements,
                disk_free_bytes=part.disk_free_bytes,
            )


@dataclass(frozen=True)
class Stored:
    """A file of records."""

    path: str
    elements: int
    count_bytes: int
    write_ns: int  # to make the elements and to write them
    cold_ns: int  # to read the file when memory holds nothing of it
    disk_free_bytes: int


@contextmanager
def stored(dataset: Any, *, at_least: int) -> Iterator[Stored]:
    """Some first elements of a dataset in a file, which is deleted at the end.

    Args:
        dataset: whose elements are stored.
        at_least: so many of them, however long they take.

    Raises:
        NotAvailable: they cannot be stored, or there is no room.
    """
    # The folder of the recordings, where there is one, is on the user's own disk.
    beside = os.path.join(os.getcwd(), ".fitdoctor")
    try:
        folder = tempfile.mkdtemp(prefix="trial-", dir=beside if os.path.isdir(beside) else None)
    except OSError as error:
        raise NotAvailable(f"nothing can be written to {beside}: {error.strerror}") from error
    try:
        free = shutil.disk_usage(folder).free
        if free < ROOM_LEFT * MOST_BYTES:
            raise NotAvailable("the disk is nearly full")
        path = os.path.join(folder, "part.tfrecord")
        begin = time.perf_counter_ns()
        elements = _write(dataset, path, at_least)
        spent = time.perf_counter_ns() - begin
        yield Stored(path, elements, os.path.getsize(path), spent, _cold_ns(path), free)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(dataset: Any, path: str, at_least: int) -> int:
    tf = sys.modules["tensorflow"]
    deadline = time.perf_counter() + WRITE_S
    elements = count_bytes = 0
    with tf.io.TFRecordWriter(path) as writer:
        for record in as_records(tf, dataset).as_numpy_iterator():
            writer.write(record)
            elements, count_bytes = elements + 1, count_bytes + len(record)
            over = time.perf_counter() > deadline or count_bytes > MOST_BYTES
            if over and elements >= at_least:
                break
    if not elements:
        raise NotAvailable("the stage gives no elements")
    return elements


def _cold_ns(path: str) -> int:
    """The time to read a file from the disk; from memory where that cannot be emptied."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.perf_counter_ns()
        while os.read(descriptor, _PIECE):
            pass
        return time.perf_counter_ns() - begin
    finally:
        os.close(descriptor)
