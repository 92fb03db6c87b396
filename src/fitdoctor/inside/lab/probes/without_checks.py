"""The step without the checks that a framework makes on every operation, where they are on."""

from __future__ import annotations

from fitdoctor.contract.evidence.step import WithoutChecks
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns, step_under
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe
from fitdoctor.inside.seams.watch.debug_checks import checks_on
from fitdoctor.inside.seams.watch.eager_switch import place_of_word


class WithoutChecksProbe(Probe[WithoutChecks]):
    """In turns with the user's own step."""

    phase = Phase.MODEL
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        if context.trial is None or compiled_step_ns(context) is None:
            return False
        return context.trial.executions == 1 and checks_on(context.backend.name) is not None

    def run(self, context: Context) -> WithoutChecks:
        checks = checks_on(context.backend.name)
        if checks is None:
            raise NotAvailable("the checks are off by now")
        place = place_of_word(checks.name)
        return WithoutChecks(
            **step_under(context, lambda _: checks.off),
            switch=checks.name,
            file=place.file if place else None,
            line=place.line if place else None,
        )
