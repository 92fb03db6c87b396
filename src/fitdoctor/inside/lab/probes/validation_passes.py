"""How often one validation goes over its data: `validation_steps` of a dataset without an end.

`validation_steps=len(x_val)` counts rows, and goes over the batches as often as each has rows.
"""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.backends.base import NotAvailable
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk

# Stages that hand on as many elements as they read.
_HAND_ON = frozenset({"cache", "map", "prefetch", "with_options", "OptionsDataset"})


def validation_passes(call: Call) -> Data:
    """The batches of one pass, and the steps that each validation takes."""
    data, steps = (call.arguments.get(name) for name in ("validation_data", "validation_steps"))
    tensorflow = sys.modules.get("tensorflow")
    if not isinstance(steps, int) or tensorflow is None:
        raise NotAvailable("validation_steps is not given")
    if not isinstance(data, tensorflow.data.Dataset):
        raise NotAvailable("the validation data are no tf.data dataset")
    return {"steps": steps, "batches": _batches(walk(data))}


def _batches(stages: list[Stage]) -> int:
    """Batches until the data begin anew."""
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
