"""The optimizer's update of all weights by itself."""

from __future__ import annotations

from fitdoctor.contract.evidence.model import OptimizerUpdate
from fitdoctor.inside.lab.apparatus.layer_cost import timed_layers
from fitdoctor.inside.lab.apparatus.layer_timer import timed_alone
from fitdoctor.inside.lab.apparatus.model_pass import variable_values
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.seams.models.layer_step import optimizer_update


class OptimizerUpdateProbe(Probe[OptimizerUpdate]):
    phase = Phase.LAYERS
    after = ("layers",)

    def wanted(self, context: Context) -> bool:
        return bool(timed_layers(context))

    def run(self, context: Context) -> OptimizerUpdate:
        model, result = context.fit.model, context.result
        values = variable_values(context)
        if values and len(result[1]) > 2:
            # The third part of the state is the optimizer's.
            slots = zip(model.optimizer.variables, result[1][2], strict=False)
            values.update((id(variable), value) for variable, value in slots)
        update = optimizer_update(context.backend.name, model, values)
        return OptimizerUpdate(**timed_alone(context.backend, update).fields())
