"""The optimizer's update of all weights by itself."""

from __future__ import annotations

from fitdoctor.contract.evidence.model import OptimizerUpdate
from fitdoctor.inside.lab.apparatus.layer_cost import timed_layers
from fitdoctor.inside.lab.apparatus.layer_timer import timed_alone
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import STEPS, Phase, Probe
from fitdoctor.inside.seams.models.layer_step import optimizer_update


class OptimizerUpdateProbe(Probe[OptimizerUpdate]):
    phase = Phase.LAYERS
    subjects = STEPS
    after = ("layers",)

    def wanted(self, context: Context) -> bool:
        return bool(timed_layers(context))

    def run(self, context: Context) -> OptimizerUpdate:
        step = context.step
        update = optimizer_update(context.backend.name, step.model, step.optimizer, step.values)
        return OptimizerUpdate(**timed_alone(context.backend, update).fields())
