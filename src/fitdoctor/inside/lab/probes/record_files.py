"""TFRecord files as they are, against the same records in one file."""

from __future__ import annotations

import os
import sys
import tempfile

from fitdoctor.contract.evidence.loading import RecordFiles
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, time_dataset
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk

PACKED_RECORDS = 600


def record_files(source: Stage, ns_per_record: float, iterators: Iterators) -> RecordFiles:
    """Pack some records of the files into one and read that."""
    tf = sys.modules["tensorflow"]
    names = getattr(source.dataset, "_filenames", None)
    if not isinstance(names, tf.data.Dataset):
        raise NotAvailable("the files of the dataset were not seen")
    files = [name.decode() for name in names.as_numpy_iterator()]
    records, opened = _first_records(files)
    if not records:
        raise NotAvailable("the files hold no records")
    with tempfile.TemporaryDirectory(prefix="fitdoctor-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "packed.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)
        packed = time_dataset(tf.data.TFRecordDataset(path), iterators)
    reorders = (stage.reorders or stage.random or stage.op == "shuffle" for stage in walk(names))
    return RecordFiles(
        files=len(files),
        records_per_file=len(records) / opened,
        record_ns=round(ns_per_record),
        packed_record_ns=round(packed.ns),
        record_bytes=round(sum(map(len, records)) / len(records)),
        keeps_order=not any(reorders),
        file=source.place.file if source.place else None,
        line=source.place.line if source.place else None,
    )


def _first_records(files: list[str]) -> tuple[list[bytes], int]:
    """Enough records, and how many files they are from."""
    tf = sys.modules["tensorflow"]
    records: list[bytes] = []
    opened = 0
    for name in files:
        if len(records) >= PACKED_RECORDS:
            break
        opened += 1
        records.extend(tf.data.TFRecordDataset(name).take(PACKED_RECORDS).as_numpy_iterator())
    return records, opened


class PackRecords(PipelineProbe[RecordFiles]):
    after = ("generator_alone",)
    needs_whole = False

    def is_worth(self, bench: PipelineBench) -> bool:
        return bench.timed_source("TFRecordDataset") is not None

    def tried(self, bench: PipelineBench) -> RecordFiles:
        source = bench.timed_source("TFRecordDataset")
        if source is None:
            raise NotAvailable("the pipeline reads no files of records")
        return record_files(source, bench.ablation.times[source.number].ns, bench.iterators)
