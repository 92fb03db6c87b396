"""What a batch of a PyDataset costs that is made for nothing: Keras's own way to the step."""

from __future__ import annotations

from fitdoctor.contract.evidence.loading import AdapterFloor
from fitdoctor.inside.lab.apparatus.slow_input import slow_adapter
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.seams.inputs.second_reader import same_batch_again

SECONDS = 0.6


class HandOverOneBatch(Probe[AdapterFloor]):
    phase = Phase.INPUT

    def wanted(self, context: Context) -> bool:
        return slow_adapter(context, "PyDataset") is not None

    def run(self, context: Context) -> AdapterFloor:
        adapter = context.adapter
        batches = same_batch_again(adapter, context.backend.name, adapter.py_dataset[0])
        next(batches)
        return AdapterFloor(**measure(lambda: next(batches), seconds=SECONDS).fields())
