"""Joint plans of the whole pipeline: the few that promise most, each tried."""

from __future__ import annotations

from fitdoctor.contract.evidence.plans import InputPlans
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.inside.lab.apparatus.pipeline_bench import (
    PipelineBench,
    PipelineProbe,
    pipeline_bench,
)
from fitdoctor.inside.lab.apparatus.plan_trials import PlanTrials
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.planning.bounds import Step


class PlanWholePipeline(PipelineProbe[InputPlans]):
    after = ("trial_cache_python", "trial_batch_first", "trial_parallel_map", "trial_early_skip")

    def is_worth(self, bench: PipelineBench) -> bool:
        return len(bench.stages) > 1

    def run(self, context: Context) -> InputPlans:
        bench = pipeline_bench(context)
        if bench is None:
            raise NotAvailable("there is no pipeline that can be read again")
        frozen = context.found(FrozenBatch)
        step = Step() if frozen is None or not frozen.ns else Step(min(frozen.ns), frozen.own_cores)
        return PlanTrials(bench, step).run()
