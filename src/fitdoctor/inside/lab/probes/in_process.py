"""One batch of a PyDataset made in this thread, and what it would take to ship it."""

from __future__ import annotations

import itertools
import pickle
import time
from typing import Any

from fitdoctor.contract.evidence.loading import BatchInProcess
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.inside.lab.apparatus.slow_input import slow_adapter
from fitdoctor.inside.lab.apparatus.windows import MIN_WINDOWS, durations_ns, measure
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import Phase, Probe
from fitdoctor.inside.ledger.native_work import NativeWork
from fitdoctor.inside.seams.inputs.second_reader import number_of_batches

SECONDS = 1.0
PICKLED = 3


class MakeInThisThread(Probe[BatchInProcess]):
    phase = Phase.INPUT
    after = ("adapter_floor",)

    def wanted(self, context: Context) -> bool:
        return slow_adapter(context, "PyDataset") is not None

    def run(self, context: Context) -> BatchInProcess:
        dataset = context.adapter.py_dataset
        length = number_of_batches(dataset)
        indices = itertools.cycle(range(length))
        traced = NativeWork()
        traced.of(lambda: dataset[next(indices)])
        begin = time.perf_counter()
        batch = dataset[next(indices)]
        seconds = max(SECONDS, MIN_WINDOWS * (time.perf_counter() - begin))
        cpu = time.thread_time()
        made = 0

        def work() -> None:
            nonlocal made
            dataset[next(indices)]
            made += 1

        windows = measure(work, seconds=seconds)
        cpu_s = (time.thread_time() - cpu) / max(1, made)
        payload_bytes, pickle_ns = shipping(batch)
        return BatchInProcess(
            **windows.fields(),
            thread_cpu_ns=round(cpu_s * NS_PER_S),
            native=traced.to_record(),
            payload_bytes=payload_bytes,
            pickle_ns=pickle_ns,
            length=length,
        )


def shipping(batch: Any) -> tuple[int, int]:
    """Bytes of a batch between processes, and nanoseconds to pack and unpack it."""
    packed = pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)
    spent = durations_ns(
        lambda: pickle.loads(pickle.dumps(batch, protocol=pickle.HIGHEST_PROTOCOL)), PICKLED
    )
    return len(packed), min(spent)
