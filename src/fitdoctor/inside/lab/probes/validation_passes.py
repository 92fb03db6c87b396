"""How often one validation goes over its data: `validation_steps` of a dataset without an end.

`validation_steps=len(x_val)` counts rows, and goes over the batches as often as each has rows.
"""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.contract.evidence.validation import ValidationPasses
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.lab.probes.validation_batches import validation_matters
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk

# Stages that hand on as many elements as they read.
_HAND_ON = frozenset({"cache", "map", "prefetch", "with_options", "OptionsDataset"})


def validation_passes(call: Call) -> ValidationPasses:
    """The batches of one pass, and the steps that each validation takes."""
    data, steps = (call.arguments.get(name) for name in ("validation_data", "validation_steps"))
    tensorflow = sys.modules.get("tensorflow")
    if not isinstance(steps, int) or tensorflow is None:
        raise NotAvailable("validation_steps is not given")
    if not isinstance(data, tensorflow.data.Dataset):
        raise NotAvailable("the validation data are no tf.data dataset")
    return ValidationPasses(steps, _batches(walk(data)))


def _batches(stages: list[Stage]) -> int:
    """Batches until the data start again."""
    rows_in_one = 1
    for stage in stages:
        if stage.op == "repeat" and stage.settings.get("count", -1) < 0:
            elements = int(stages[stage.inputs[0]].dataset.cardinality())
            if elements <= 0:
                raise NotAvailable("how many elements the data have is not known")
            return -(-elements // rows_in_one)
        if stage.op == "batch":
            rows_in_one *= _batch_size(stage)
        elif stage.op not in _HAND_ON:
            break
    raise NotAvailable("the data have an end")


def _batch_size(stage: Any) -> int:
    size = stage.settings.get("batch_size")
    if not size:
        raise NotAvailable("how large a batch is is not known")
    return int(size)


class CountPasses(Probe[ValidationPasses]):
    phase = Phase.CALLS
    after = ("validation_start",)
    needs_quiet = False

    def wanted(self, context: Context) -> bool:
        is_given = context.fit.arguments.get("validation_steps") is not None
        return is_given and validation_matters(context.fit)

    def run(self, context: Context) -> ValidationPasses:
        return validation_passes(context.fit)
