"""Rows of a Python generator in chunks, as `fitdoctor.from_generator` hands them over."""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import InChunks
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits

# Elements of a batch that come one by one from Python.
MANY_ELEMENTS = 4


class CrossInChunks(PipelineProbe[InChunks]):
    after = ("trial_early_skip",)

    def is_worth(self, bench: PipelineBench) -> bool:
        source = bench.stages[-1]
        per_batch = bench.ablation.per_batch.get(source.number) or 0.0
        is_single = source.op == "from_generator" and per_batch >= MANY_ELEMENTS
        return is_single and bench.is_notable(source)

    def tried(self, bench: PipelineBench) -> InChunks:
        source = bench.stages[-1]
        fields = bench.timed(tf_edits.in_chunks(bench.dataset, source))
        return InChunks(**fields, stage=source.number, repeats=bench.repeats(source))
