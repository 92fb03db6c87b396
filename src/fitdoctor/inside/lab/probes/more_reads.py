"""More reads side by side: does a pipeline that waits for its files get faster?"""

from __future__ import annotations

import statistics

from fitdoctor.contract.evidence.pipeline import MoreReads
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, PipelineProbe
from fitdoctor.inside.seams.inputs import tf_edits

READS = 16
MOST_READS = 64
# Reads side by side share their waits: a batch takes no more than this many times its even part.
UNEVEN = 3.0
# Four times the threads are worth it from here on.
WORTH_MORE = 1.25


class ReadSideBySide(PipelineProbe[MoreReads]):
    def is_worth(self, bench: PipelineBench) -> bool:
        return bench.reads_wait()

    def tried(self, bench: PipelineBench) -> MoreReads:
        asked = max((s.parallel or 0 for s in bench.stages), default=0)
        few = min(MOST_READS, max(READS, asked))
        found = _with(bench, few)
        # Where so many waits are shared nearly evenly, still more of them may be.
        is_shared = statistics.median(found.ns) * few < UNEVEN * bench.batch_ns
        if few < MOST_READS and is_shared:
            more = _with(bench, MOST_READS)
            if statistics.median(found.ns) >= WORTH_MORE * statistics.median(more.ns):
                return more
        return found


def _with(bench: PipelineBench, reads: int) -> MoreReads:
    dataset = tf_edits.with_reads(bench.dataset, bench.stages, reads)
    return MoreReads(**bench.timed(dataset, options=False), reads=reads)
