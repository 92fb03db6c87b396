"""The skip before the maps: elements that are skipped need not be made."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import EarlySkip
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits


class SkipFirst(PipelineProbe[EarlySkip]):
    finds = EarlySkip
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


PROBES = (SkipFirst(),)
