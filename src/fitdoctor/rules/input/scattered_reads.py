"""# scattered-reads (IN011)

## What it finds
A batch is read from places all over a file, or from a file per sample. Opening and unpacking costs
more than reading the data.

## Why it is slow
Reading one row of a compressed HDF5 chunk unpacks the whole chunk. Reading one record opens a file.
The same rows side by side cost one chunk or one open file.

## Evidence
- training waits for its data: a frozen batch gains ${WORTH_GAIN:gain} or more, and loading explains
  at least ${EXPLAINED_SHARE:percent} of that;
- reading from HDF5 takes at least ${READ_SHARE:percent} of loading, and the same number of rows in
  one block of the same file takes ${CONTIGUOUS_SHARE:percent} of that or less; or
- record files hold fewer than ${FEW_RECORDS} records each, and the same records in one file were
  read in ${PACKED_SHARE:percent} of the time or less.

## Predicted gain
Loading with the contiguous read instead, overlapped with the step.

## Example
```python
rows = sorted(rng.choice(n, 64, replace=False)); file["x"][rows]
tf.data.TFRecordDataset(4000 files of one record)
```

## Use instead
```python
start = blocks[index] * 64; file["x"][start : start + 64]     # shuffle blocks, read rows together
x = file["x"][:]                                              # or load it, where it fits
tf.data.TFRecordDataset(8 files of 500 records)
tf.data.TFRecordDataset(files).apply(fitdoctor.packed("DEST"))   # makes them in the first run
```

## Fix safety
Reading blocks in random order changes the order of samples: shuffle rows inside some blocks, too.
Repacked records are the same records in the same order. `fitdoctor fix --pack DEST` makes that
edit, and the script's next run writes the records to DEST. If the order of files changes in every
epoch (`list_files` shuffles), the pack keeps one order, which is unsafe: shuffle after it. An array
in memory gives the same rows in the same order. `fix --unsafe` reads it at the place where it is
opened, if it fits. That is unsafe because its slices are views: a change in place stays.

## When not to
The file is small enough to read whole: do that.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import (
    AdapterFloor,
    BatchInProcess,
    Hdf5ReadCost,
    RecordFiles,
)
from fitdoctor.contract.limits import FEW_RECORDS, NS_PER_S
from fitdoctor.findings.edits import ReadAll
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule, with_cure
from fitdoctor.rules.support import slow_loader
from fitdoctor.rules.support.places import packed_after, record_source
from fitdoctor.units import duration, size

# Records in one file take at most this share of what they take as they are.
PACKED_SHARE = 2 / 3
FRAME_BYTES = 16  # around each record of a TFRecord file
# Reads are timed on some of the data.
ERROR = 0.2
# Something of loading is always left.
LEAST_LEFT = 0.02
# A smaller difference of two measurements of a loader is noise: somewhere between none and that.
NOISE_SHARE = 0.05
# Fields of a result that are places, not evidence.
PLACES = ("file", "line", "opened_file", "opened_line")


class ScatteredReads(Rule):
    summary = "batches are collected from all over a file, or from a file per sample"
    safety = "unsafe"
    numbers_from = (loading, slow_loader)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """Contiguous reads of the same amount are far faster."""
        loader = view.loader
        if loader is None or not loading.input_is_slow(view):
            return None
        return self._hdf5(view, loader) or self._records(view, loader)

    def _hdf5(self, view: View, loader: Loader) -> Finding | None:
        read = view.found(Hdf5ReadCost)
        if read is None or not slow_loader.is_scattered_hdf5(view):
            return None
        found = self._scattered(
            view,
            read,
            _in_blocks(view, read.ns, read.contiguous_ns, loader.ns.value),
            f"{read.rows} rows take {duration(read.ns)} as they lie in the "
            f"{read.compression or 'chunked'} HDF5 file, "
            f"{duration(read.contiguous_ns)} in one block",
            Cure(
                "unsafe",
                "read contiguous blocks in random order and shuffle inside them, or load the "
                "array into memory once",
            ),
        )
        return replace(found, partly=_in_memory(view, read, loader, found))

    def _records(self, view: View, loader: Loader) -> Finding | None:
        read, source = view.found(RecordFiles), record_source(view)
        if read is None or source is None or source.per_batch is None:
            return None
        is_slow = read.packed_record_ns <= PACKED_SHARE * read.record_ns
        if read.records_per_file >= FEW_RECORDS or not is_slow:
            return None
        saved = (read.record_ns - read.packed_record_ns) * source.per_batch
        # Both were timed stage by stage: their ratio counts.
        whole = max(view.stages[0].ns or 0.0, source.ns or 0.0) or loader.ns.value
        left = loader.ns.value * max(LEAST_LEFT, 1.0 - saved / whole)
        return self._scattered(
            view,
            read,
            Interval.around(left, ERROR),
            f"{read.files} files of {read.records_per_file:.0f} records: a record takes "
            f"{duration(read.record_ns)}, {duration(read.packed_record_ns)} from one file",
            _packing(read, source),
        )

    def _scattered(
        self, view: View, read: Hdf5ReadCost | RecordFiles, after: Interval, text: str, cure: Cure
    ) -> Finding:
        measured = {
            key: value
            for key, value in asdict(read).items()
            if value is not None and key not in PLACES
        }
        return self.finding(
            view,
            f"{text}; the step itself takes {duration(view.ceiling_step.value)}",
            cure,
            saves={"input_wait": loading.saved_by(view, after, overlapped=False)},
            where=place_of(read),
            evidence={**measured, "frozen_step_ns": round(view.ceiling_step.value)},
        )


def _in_memory(view: View, read: Hdf5ReadCost, loader: Loader, found: Finding) -> Finding | None:
    """The array read once, where it fits: an edit of the line that opens it."""
    if not read.fits or not read.memory_ns or read.bytes is None or read.dataset is None:
        return None
    if not read.opened_file or not read.opened_line:
        return None
    after = _in_blocks(view, read.ns, read.memory_ns, loader.ns.value)
    blocks = read.bytes / max(1.0, (read.bytes_per_row or 0) * read.rows)
    cure = Cure(
        # h5py gives copies, arrays in memory give views: what is changed in place stays so.
        "unsafe",
        f"read {read.dataset} into memory once ({size(read.bytes)}, about "
        f"{duration(blocks * read.contiguous_ns)} at the start); slices are then views",
        (ReadAll(Where(read.opened_file, read.opened_line), read.dataset),),
    )
    return with_cure(view, found, cure, loading.saved_by(view, after, overlapped=False))


def _in_blocks(view: View, read_ns: float, block_ns: float, loader_ns: float) -> Interval:
    """A batch whose rows lie together: a block is read and handed on, and what else is done to it.

    That is a small difference of large numbers: the batch made in this process comes nearest to the
    reads in time; the loader alone, measured a while before, says what it is at most.
    """
    floor = view.timed(AdapterFloor) or Interval.exact(0.0)
    here = view.timed(BatchInProcess)
    most = max(floor.value, loader_ns - read_ns)
    likely = most if here is None else max(floor.value, min(most, here.value - read_ns))
    if likely < NOISE_SHARE * loader_ns:
        likely = (floor.value + likely) / 2.0
    least = Interval.around(block_ns + likely, ERROR)
    return Interval(block_ns + likely, least.low, max(least.high, block_ns + most))


def _packing(read: RecordFiles, source: StageCost) -> Cure:
    """The same records in a few files, in the order in which they are read now."""
    text = "pack the records into a few files of many records each"
    if read.record_bytes is None:  # an older recording: what it costs is not known
        return Cure("safe", text)
    count = read.files * read.records_per_file
    stored = round(count * (read.record_bytes + FRAME_BYTES))
    seconds = count * read.record_ns / NS_PER_S
    text += f": {size(stored)} on disk, written once in about {duration(seconds * NS_PER_S)}"
    # Files that come in another order in every epoch would keep that of the first.
    packed = packed_after(source, stored, seconds)
    return Cure("safe" if read.keeps_order else "unsafe", text, packed)


RULE = ScatteredReads()
