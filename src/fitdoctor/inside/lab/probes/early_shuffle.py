"""The shuffle before the maps: its buffer fills with cheap elements instead of finished ones."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import EarlyShuffle
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits


class ShuffleFirst(PipelineProbe[EarlyShuffle]):
    finds = EarlyShuffle
    after = ("trial_parallel_map",)

    def is_worth(self, bench: PipelineBench) -> bool:
        for stage in bench.stages:
            if stage.op == "shuffle" and stage.inputs[0] in bench.ablation.times:
                return bench.is_long(stage.settings.get("buffer_size", 0), stage)
        return False

    def tried(self, bench: PipelineBench) -> EarlyShuffle:
        dataset, shuffle = tf_edits.shuffled_early(bench.dataset, bench.stages)
        return EarlyShuffle(
            stage=shuffle.number,
            changed=bench.one_pass(dataset),
            as_written=bench.one_pass(bench.dataset),
        )


PROBES = (ShuffleFirst(),)
