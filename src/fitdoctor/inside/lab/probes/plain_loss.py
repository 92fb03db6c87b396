"""What the user's own loss costs: the step with a plain one in its place."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.model import PlainLoss
from fitdoctor.inside.lab.apparatus.frozen_steps import compiled_step_ns, step_under
from fitdoctor.inside.lab.apparatus.model_pass import forward_pass, is_users_code, loss_of
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe, Subject
from fitdoctor.inside.lab.probes.layers import shortest_step_ns
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.models.contexts import with_plain_loss


class PlainLossProbe(Probe[PlainLoss]):
    """Only for losses that the user wrote: Keras's own are as fast as they get."""

    phase = Phase.LAYERS
    subjects = frozenset({Subject.FIT})
    after = ("layers", "machine_ceiling", "one_call", "optimizer_update")

    def wanted(self, context: Context) -> bool:
        step_ns = compiled_step_ns(context)
        if step_ns is None or context.trial is None or step_ns < shortest_step_ns(context):
            return False
        return context.trial.executions == 1 and _users_loss(context) is not None

    def run(self, context: Context) -> PlainLoss:
        outputs = batches.leaves(forward_pass(context)())
        loss = _users_loss(context)
        code = getattr(getattr(type(loss), "call", loss), "__code__", None)
        return PlainLoss(
            **step_under(context, with_plain_loss),
            output_bytes=sum(_bytes_of(one) for one in outputs),
            function=getattr(loss, "__name__", type(loss).__name__),
            file=getattr(code, "co_filename", None),
            line=getattr(code, "co_firstlineno", None),
        )


def _users_loss(context: Context) -> Any:
    """The first loss of compile() that the user wrote."""
    given = batches.leaves(loss_of(context))
    return next((one for one in given if is_users_code(one, "call")), None)


def _bytes_of(tensor: Any) -> int:
    rows = 1
    for length in tensor.shape:
        rows *= int(length)
    return rows * 4
