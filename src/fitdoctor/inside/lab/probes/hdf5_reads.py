"""The rows of a batch as they are read from HDF5, as one block, and from memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.contract.evidence.loading import Hdf5ReadCost
from fitdoctor.contract.limits import MEMORY_SHARE
from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.slow_input import loading_explains_loss
from fitdoctor.inside.lab.apparatus.windows import durations_ns
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads

BLOCKS = 12  # contiguous blocks read for comparison
# Of a dataset that are read into memory for a trial.
MOST_ROWS = 2048
MOST_BYTES = 1 << 26
# Reads of a hand-written loop that take less of an iteration are not why it is slow.
NOTABLE_SHARE = 0.2


def hdf5_reads(reads: Hdf5Reads, steps: int) -> Hdf5ReadCost:
    """What the rows of a batch cost as they are read, and as one block of each dataset."""
    datasets = reads.heaviest_first()
    if not datasets or not steps:
        raise NotAvailable("no HDF5 file was read during training")
    heaviest = datasets[0]
    rows = max(1, round(heaviest.rows / steps))
    h5py = sys.modules["h5py"]
    blocks = 0
    for one in datasets:
        with h5py.File(one.file, "r") as file:
            blocks += _block_ns(file[one.name], max(1, round(one.rows / steps)))
    with h5py.File(heaviest.file, "r") as file:
        dataset = file[heaviest.name]
        chunks, compression, size = dataset.chunks, dataset.compression, int(dataset.nbytes)
        row_bytes = max(1, size // max(1, dataset.shape[0]))
        memory_ns = _memory_ns(dataset, rows, row_bytes)
    free = available_bytes()
    opened = heaviest.opened if heaviest.openings == 1 else None
    return Hdf5ReadCost(
        ns=round(sum(one.ns for one in datasets) / steps),
        contiguous_ns=blocks,
        rows=rows,
        reads_per_batch=round(sum(one.count for one in datasets) / steps, 2),
        chunk_rows=chunks[0] if chunks else None,
        compression=compression,
        file=heaviest.place.file if heaviest.place else None,
        line=heaviest.place.line if heaviest.place else None,
        dataset=heaviest.name,
        opened_file=opened.file if opened else None,
        opened_line=opened.line if opened else None,
        memory_ns=memory_ns,
        bytes=size,
        bytes_per_row=row_bytes,
        fits=free is not None and size <= MEMORY_SHARE * free,
    )


def _memory_ns(dataset: Any, rows: int, row_bytes: int) -> int:
    numpy = sys.modules["numpy"]
    part = dataset[: max(1, min(dataset.shape[0], MOST_ROWS, MOST_BYTES // row_bytes))]
    generator = numpy.random.default_rng(0)
    chosen = [numpy.sort(generator.integers(0, len(part), rows)) for _ in range(BLOCKS)]
    return _median_ns(lambda block: part[chosen[block]])


def _block_ns(dataset: Any, rows: int) -> int:
    """The median time to read that many rows side by side, from all over the file."""

    def read(block: int) -> None:
        start = (block * 7919 * rows) % max(1, dataset.shape[0] - rows)
        dataset[start : start + rows]

    return _median_ns(read)


def _median_ns(read: Callable[[int], Any]) -> int:
    blocks = iter(range(BLOCKS))
    return durations_ns(lambda: read(next(blocks)), BLOCKS)[BLOCKS // 2]


class ReadRowsAgain(Probe[Hdf5ReadCost]):
    phase = Phase.INPUT
    after = ("stages", "record_files", "trial_busy_threads")
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        if not context.hdf5.by_dataset:
            return False
        if context.subject is Subject.FIT:
            return loading_explains_loss(context)
        spent = sum(one.ns for one in context.hdf5.by_dataset.values())
        return spent / max(1, context.workload.steps) >= NOTABLE_SHARE * (context.period_ns or 0.0)

    def run(self, context: Context) -> Hdf5ReadCost:
        # A running call is not in the line's total yet.
        running = context.fit.steps if context.arguments else 0
        return hdf5_reads(context.hdf5, context.workload.steps + running)
