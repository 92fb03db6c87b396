"""Preprocessing that is the same in every pass and outgrows memory, read from a file instead."""

from __future__ import annotations

import math
import sys

from fitdoctor.contract.evidence.pipeline import Packed
from fitdoctor.contract.stored_tensors import from_records, not_storable
from fitdoctor.inside.lab.apparatus.cache_point import CachePoint
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.lab.apparatus.stored_part import stored
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.inputs.tf_pipeline import substituted


class KeepOnDisk(PipelineProbe[Packed]):
    finds = Packed
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


PROBES = (KeepOnDisk(),)
