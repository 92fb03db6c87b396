"""The step with attention layers that may take the fused path."""

from __future__ import annotations

from fitdoctor.contract.evidence.attention import FusedAttention
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns, step_under
from fitdoctor.inside.lab.apparatus.layer_cost import cost, timed_layers
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, NotAvailable, Phase, Probe
from fitdoctor.inside.seams.models.fused_attention import FreedAttention, attention_layers

# Of the layers' time: below, attention is not what a step waits for.
NOTABLE_SHARE = 0.1


class FusedAttentionProbe(Probe[FusedAttention]):
    """In turns with the step as it is."""

    phase = Phase.MODEL
    subjects = STEPS

    def wanted(self, context: Context) -> bool:
        if compiled_step_ns(context) is None or context.trial is None:
            return False
        # A step function of several steps cannot be compared with.
        return context.trial.executions == 1 and _is_notable(context)

    def run(self, context: Context) -> FusedAttention:
        freed = FreedAttention(context.step.model)
        timed = step_under(context, freed.context)
        if not freed.reasons:
            raise NotAvailable("attention takes the fused path already")
        return FusedAttention(
            **timed, types=tuple(sorted(freed.types)), reasons=tuple(sorted(freed.reasons))
        )


def _is_notable(context: Context) -> bool:
    """Of layers that were timed; where none were, it is tried."""
    names = {layer.name for layer in attention_layers(context.model)}
    rows = timed_layers(context)
    whole = sum(cost(row) for row in rows)
    if not names or not whole:
        return bool(names)
    return sum(cost(row) for row in rows if row.name in names) >= NOTABLE_SHARE * whole
