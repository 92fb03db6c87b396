"""Memory while training ran, as it was looked at between steps."""

from __future__ import annotations

from fitdoctor.contract.evidence.memory import MemoryWhileTraining
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe


class MemoryProbe(Probe[MemoryWhileTraining]):
    """Nothing is run: the looks were taken while the script trained."""

    phase = Phase.FACTS
    subjects = STEPS
    on_spread_models = True
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        return context.memory is not None

    def run(self, context: Context) -> MemoryWhileTraining:
        if context.memory is None:
            raise NotAvailable("memory was not looked at")
        return context.memory
