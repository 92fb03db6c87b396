"""# scattered-reads (IN011)

## What it finds
A batch is collected from places all over a file, or from a file per sample, and opening and
unpacking costs more than the data.

## Why it is slow
A compressed HDF5 chunk is unpacked whole for each row that is wanted of it; a file is opened for
each record. The same rows side by side cost one chunk, one open file.

## Evidence
- training waits for its data;
- reading from HDF5 takes at least half of loading, and the same number of rows in one block of
  the same file takes a third or less; or
- record files hold fewer than 20 records each, and the same records in one file were read in two
  thirds of the time or less.

## Predicted gain
Loading with the contiguous read instead, beside the step.

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
Reading blocks in random order is another order of samples: shuffle rows inside some blocks, too.
Repacked records are the same records in the same order: `fitdoctor fix --pack DEST` makes that
edit, and the script's next run writes the records to DEST. Where the files come in another order in
every epoch (`list_files` shuffles), the pack keeps one order, which is unsafe: shuffle behind it.
An array in memory gives the same rows in the same order; `fix --unsafe` reads it where it is
opened, if it fits. Unsafe, since its slices are views: what is changed in place stays changed.

## When not to
The file is small enough to read whole: do that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import ReadAll
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import input_is_slow, saved_by
from fitdoctor.rules.support.places import packed_after
from fitdoctor.units import duration, size

PAGE = __doc__ or ""

READ_SHARE = 0.5
CONTIGUOUS_SHARE = 1 / 3
PACKED_SHARE = 2 / 3
FEW_RECORDS = 20
PLACES = ("file", "line", "opened_file", "opened_line")
FRAME_BYTES = 16  # around each record of a TFRecord file
ERROR = 0.2
# A smaller difference of two measurements of a loader is noise: somewhere between none and that.
DROWNS = 0.05


class ScatteredReads:
    """IN011."""

    code = "IN011"
    name = "scattered-reads"
    summary = "batches are collected from all over a file, or from a file per sample"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """Contiguous reads of the same amount are far faster."""
        if view.loader is None or not input_is_slow(view):
            return None
        return self._hdf5(view) or self._records(view)

    def _hdf5(self, view: View) -> Finding | None:
        read = view.result("hdf5_reads")
        loader = view.loader
        if not read or loader is None or not is_scattered_hdf5(view):
            return None
        found = self._finding(
            view,
            read,
            _in_blocks(view, read, loader.ns.value),
            message=(
                f"{read['rows']} rows take {duration(read['ns'])} as they lie in the "
                f"{read.get('compression') or 'chunked'} HDF5 file, "
                f"{duration(read['contiguous_ns'])} in one block"
            ),
            cure=Cure(
                "unsafe",
                "read contiguous blocks in random order and shuffle inside them, or load the "
                "array into memory once",
            ),
        )
        return replace(found, partly=self._in_memory(view, read, loader.ns.value, found))

    def _in_memory(
        self, view: View, read: dict[str, Any], loader: float, found: Finding
    ) -> Finding | None:
        """The array read once, where it fits: an edit of the line that opens it."""
        if not read.get("fits") or not read.get("opened_file") or not read.get("memory_ns"):
            return None
        after = _in_blocks(view, {**read, "contiguous_ns": read["memory_ns"]}, loader)
        saved = saved_by(view, after, overlapped=False)
        where = Where(str(read["opened_file"]), int(read["opened_line"]))
        blocks = read["bytes"] / max(1.0, read["bytes_per_row"] * read["rows"])
        cure = Cure(
            # h5py gives copies, arrays in memory give views: what is changed in place stays so.
            "unsafe",
            f"read {read['dataset']} into memory once ({size(read['bytes'])}, about "
            f"{duration(blocks * read['contiguous_ns'])} at the start); slices are then views",
            (ReadAll(where, str(read["dataset"])),),
        )
        return replace(
            found, gain=gain(view.costs.total, saved), cure=cure, saves={"input_wait": saved}
        )

    def _records(self, view: View) -> Finding | None:
        read = view.result("record_files")
        loader = view.loader
        source = next((s for s in view.stages if s.op.startswith("TFRecordDataset")), None)
        if not read or loader is None or source is None or source.per_batch is None:
            return None
        if read["records_per_file"] >= FEW_RECORDS:
            return None
        if read["packed_record_ns"] > PACKED_SHARE * read["record_ns"]:
            return None
        saved = (read["record_ns"] - read["packed_record_ns"]) * source.per_batch
        # Both were timed stage by stage: their ratio counts.
        whole = max(view.stages[0].ns or 0.0, source.ns or 0.0) or loader.ns.value
        left = loader.ns.value * max(0.02, 1.0 - saved / whole)
        return self._finding(
            view,
            read,
            Interval.around(left, ERROR),
            message=(
                f"{read['files']} files of {read['records_per_file']:.0f} records: a record takes "
                f"{duration(read['record_ns'])}, {duration(read['packed_record_ns'])} from one file"
            ),
            cure=_packing(read, source),
        )

    def _finding(
        self, view: View, read: dict[str, Any], after: Interval, *, message: str, cure: Cure
    ) -> Finding:
        saved = saved_by(view, after, overlapped=False)
        where = Where(read["file"], read["line"] or 0) if read.get("file") else None
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=f"{message}; the step itself takes {duration(view.ceiling_step.value)}",
            gain=gain(view.costs.total, saved),
            cure=cure,
            evidence={
                **{
                    key: value
                    for key, value in read.items()
                    if isinstance(value, int | float | str) and key not in PLACES
                },
                "frozen_step_ns": round(view.ceiling_step.value),
            },
            saves={"input_wait": saved},
        )


def _in_blocks(view: View, read: dict[str, Any], loader: float) -> Interval:
    """A batch whose rows lie together: a block is read and handed on, and what else is done to it.

    That is a small difference of large numbers: the batch made in this process comes nearest to the
    reads in time; the loader alone, measured a while before, says what it is at most.
    """
    floor = view.probe_ns("adapter_floor") or Interval.exact(0.0)
    here = view.probe_ns("in_process")
    most = max(floor.value, loader - read["ns"])
    likely = most if here is None else max(floor.value, min(most, here.value - read["ns"]))
    if likely < DROWNS * loader:
        likely = (floor.value + likely) / 2.0
    block = float(read["contiguous_ns"])
    least = Interval.around(block + likely, ERROR)
    return Interval(block + likely, least.low, max(least.high, block + most))


def _packing(read: dict[str, Any], source: StageCost) -> Cure:
    """The same records in a few files, in the order in which they are read now."""
    text = "pack the records into a few files of many records each"
    count = read["files"] * read["records_per_file"]
    size_of_one = read.get("record_bytes")
    if size_of_one is None:  # an older recording: what it costs is not known
        return Cure("safe", text)
    stored = round(count * (size_of_one + FRAME_BYTES))
    seconds = count * read["record_ns"] / 1e9
    text += f": {size(stored)} on disk, written once in about {duration(seconds * 1e9)}"
    # Files that come in another order in every epoch would keep that of the first.
    safety: Safety = "safe" if read.get("keeps_order") else "unsafe"
    return Cure(safety, text, packed_after(source, stored, seconds))


def is_scattered_hdf5(view: View) -> bool:
    """Whether reading scattered rows is what loading waits for."""
    read, loader = view.result("hdf5_reads"), view.loader
    if not read or loader is None:
        return False
    is_most = read["ns"] >= READ_SHARE * loader.ns.value
    return bool(is_most and read["contiguous_ns"] <= CONTIGUOUS_SHARE * read["ns"])


RULE = ScatteredReads()
