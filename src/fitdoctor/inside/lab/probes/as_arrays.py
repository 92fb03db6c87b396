"""Rows of arrays in memory, picked as `fit(x, y)` picks them instead of one by one."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import AsArrays
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import keras_arrays

# Stages that do nothing to a row.
_HAND_ON = ("prefetch", "repeat", "with_options")


class PickAsKeras(PipelineProbe[AsArrays]):
    after = ("trial_chunks",)

    def is_worth(self, bench: PipelineBench) -> bool:
        *ops, source = [s.op for s in bench.stages if s.op not in _HAND_ON]
        is_plain = sorted(ops) in (["batch"], ["batch", "shuffle"])
        return source == "from_tensor_slices" and is_plain

    def tried(self, bench: PipelineBench) -> AsArrays:
        source = bench.stages[-1]
        batch = next(s for s in bench.stages if s.op == "batch")
        shuffles = any(s.op == "shuffle" for s in bench.stages)
        dataset = keras_arrays.as_arrays(source.dataset, batch.settings["batch_size"], shuffles)
        return AsArrays(**bench.timed(dataset), stage=batch.number, source=source.number)
