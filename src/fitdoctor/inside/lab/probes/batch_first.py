"""Maps after the batch: one call for all rows of a batch instead of one call for each row."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import BatchFirst
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits

# Longer work per element than this is not overhead: batching it first gains nothing.
SHORT_ELEMENT_NS = 300_000
SMALLEST_BATCH = 4


class MapWholeBatches(PipelineProbe[BatchFirst]):
    after = ("trial_cache_python",)

    def is_worth(self, bench: PipelineBench) -> bool:
        batch = next((s for s in reversed(bench.stages) if s.op in tf_edits.BATCHING), None)
        if batch is None or batch.settings.get("batch_size", 1) < SMALLEST_BATCH:
            return False
        maps = [s for s in tf_edits.chain_above(bench.stages, batch.number) if s.op == "map"]
        if not maps or batch.number not in bench.ablation.times:
            return False
        # Maps and their batch run fused: what counts is the whole up to the batch.
        whole = bench.ablation.row(batch)
        rows = whole.per_batch * batch.settings["batch_size"]
        return max(whole.ns, whole.cpu_ns) / rows < SHORT_ELEMENT_NS

    def tried(self, bench: PipelineBench) -> BatchFirst:
        dataset, batch, maps = tf_edits.maps_after_batch(bench.dataset, bench.stages)
        source = bench.stages[maps[-1].inputs[0]].dataset
        agreed = tf_edits.batched_either_way(batch, maps, source)
        fields = bench.timed(dataset)
        return BatchFirst(**fields, stage=maps[0].number, same=agreed.same, close=agreed.close)
