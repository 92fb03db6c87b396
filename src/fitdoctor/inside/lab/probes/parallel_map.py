"""Random maps in parallel: TensorFlow does not run maps with a state in parallel by itself."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import ParallelMap
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits
from fitdoctor.inside.seams.inputs.tf_stages import Stage


class MapInParallel(PipelineProbe[ParallelMap]):
    after = ("trial_batch_first",)

    def is_worth(self, bench: PipelineBench) -> bool:
        return any(bench.is_notable(stage) for stage in _serial_random_maps(bench))

    def tried(self, bench: PipelineBench) -> ParallelMap:
        stage = _serial_random_maps(bench)[0]
        fields = bench.timed(tf_edits.with_autotune(bench.dataset, bench.stages))
        return ParallelMap(**fields, stage=stage.number)


def _serial_random_maps(bench: PipelineBench) -> list[Stage]:
    return [s for s in bench.stages if s.op == "map" and s.parallel is None and s.random]
