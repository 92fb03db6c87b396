"""More reads side by side: does a pipeline that waits for its files get faster?"""

from __future__ import annotations

from fitdoctor.contract.evidence.pipeline import MoreReads
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits

READS = 16
MOST_READS = 64


class ReadSideBySide(PipelineProbe[MoreReads]):
    def is_worth(self, bench: PipelineBench) -> bool:
        return bench.reads_wait()

    def tried(self, bench: PipelineBench) -> MoreReads:
        asked = max((s.parallel or 0 for s in bench.stages), default=0)
        reads = min(MOST_READS, max(READS, asked))
        dataset = tf_edits.with_reads(bench.dataset, bench.stages, reads)
        return MoreReads(**bench.timed(dataset, options=False), reads=reads)
