"""The shuffle or the skip before the maps, one pass each way from its beginning."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import EarlyShuffle, EarlySkip
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits


class ShuffleFirst(PipelineProbe[EarlyShuffle]):
    """The buffer fills with cheap elements instead of finished ones."""

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


class SkipFirst(PipelineProbe[EarlySkip]):
    """Elements that are skipped need not be made."""

    after = ("trial_early_shuffle",)

    def is_worth(self, bench: PipelineBench) -> bool:
        for stage in bench.stages:
            if stage.op == "skip" and tf_edits.maps_above(bench.stages, stage):
                return bench.is_long(stage.settings.get("count", 0), stage)
        return False

    def tried(self, bench: PipelineBench) -> EarlySkip:
        dataset, skip = tf_edits.skipped_early(bench.dataset, bench.stages)
        maps = tf_edits.maps_above(bench.stages, skip)
        return EarlySkip(
            stage=skip.number,
            changed=bench.one_pass(dataset),
            as_written=bench.one_pass(bench.dataset),
            skipped=skip.settings.get("count"),
            random=any(stage.random for stage in maps),
            maps=tuple(stage.where() for stage in maps),
        )
