"""What a fit or a loop is fed with, and how that was configured."""

from __future__ import annotations

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.seams.inputs.describe import describe_input
from fitdoctor.inside.seams.inputs.loop_source import describe_loop_source


class DescribeInput(Probe[InputFacts]):
    """Reads Keras's data adapter, or the loop's loader; nothing is run."""

    phase = Phase.FACTS
    subjects = frozenset({Subject.FIT, Subject.LOOP})
    on_spread_models = True
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        """A loop without a loader was watched: what makes its data is known from that."""
        return context.found(InputFacts) is None

    def run(self, context: Context) -> InputFacts:
        if context.loop is not None:
            return describe_loop_source(context.loop)
        if context.adapter is None:
            raise NotAvailable("Keras's data adapter was not seen")
        return describe_input(context.adapter, context.fit.arguments.get("x"))
