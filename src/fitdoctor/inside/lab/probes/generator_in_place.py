"""What a generator took where it ran: a probe may not read it, since it can be read only once."""

from __future__ import annotations

from fitdoctor.contract.evidence.loading import GeneratorInPlace
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe


class TimesInPlace(Probe[GeneratorInPlace]):
    phase = Phase.FACTS
    on_spread_models = True
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return context.is_one_shot

    def run(self, context: Context) -> GeneratorInPlace:
        source = context.fit.source
        if source is None or not source.count:
            raise NotAvailable("the data is no generator")
        return GeneratorInPlace(source.count, source.wall_ns, source.cpu_ns, source.native)
