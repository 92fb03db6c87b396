"""What each stage of a tf.data or grain pipeline costs."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.pipeline import StageTimes
from fitdoctor.inside.lab.apparatus.grain_timing import grain_stages
from fitdoctor.inside.lab.apparatus.pipeline_bench import pipeline_bench
from fitdoctor.inside.lab.apparatus.slow_input import slow_adapter
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject


class TimeStages(Probe[StageTimes]):
    finds = StageTimes
    phase = Phase.INPUT
    subjects = frozenset({Subject.FIT, Subject.LOOP})

    def wanted(self, context: Context) -> bool:
        return pipeline_bench(context) is not None or _slow_grain(context) is not None

    def run(self, context: Context) -> StageTimes:
        bench = pipeline_bench(context)
        if bench is not None:
            return bench.ablation.run()
        adapter = _slow_grain(context)
        if adapter is None:
            raise NotAvailable("there is no pipeline that can be read again")
        return grain_stages(adapter._dataset)


def _slow_grain(context: Context) -> Any:
    return slow_adapter(context, "grain") if context.loop is None else None


PROBES = (TimeStages(),)
