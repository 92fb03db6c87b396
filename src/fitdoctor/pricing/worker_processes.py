"""Worker processes for a PyDataset: how many, how fast, and whether the run is long enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import BatchInProcess
from fitdoctor.intervals import Interval
from fitdoctor.pricing.loading import queue_shutdown_cost, saved_by

# A batch is packed, sent and unpacked: the pipe costs about as much as the packing.
SHIPPING_FACTOR = 2.0
# Worker processes import the script's libraries before their first batch.
START_PROCESSES_NS = 5e9
# Shipping takes time of the cores as well, which the estimate of a batch leaves out.
SHARED_ERROR = 0.3
# The threads of a pool that ask for a batch and take it (usual, least, most): 1.3 ms beside a step
# of 1 ms on two cores, 0.3 ms where a batch takes 18 ms.
HANDED_OVER_NS = Interval(1e6, 0.3e6, 2e6)

# Processes must be faster than threads by this factor: they take time to start.
WORTH_SHIPPING = 1.2


@dataclass(frozen=True)
class WorkerProcesses:
    """Processes that make batches faster than this one."""

    count: int
    batch_ns: float  # from one batch to the next
    pays: bool  # the run is long enough to pay back their start

    def saved(self, view: View) -> Interval:
        """Nanoseconds per step; the processes and the step share the cores."""
        batch = Interval(self.batch_ns, self.batch_ns, self.batch_ns * (1.0 + SHARED_ERROR))
        saved = saved_by(
            view,
            batch + HANDED_OVER_NS,
            overlapped=True,
            cores=float(self.count),
            first_batches=False,
        )
        return saved.minus(queue_shutdown_cost(view))


def worker_processes(view: View) -> WorkerProcesses | None:
    """None where they would not help, or where shipping a batch was not measured."""
    here, loader = view.found(BatchInProcess), view.loader
    if here is None or loader is None or not here.pickle_ns:
        return None
    batch, step = loader.ns.value, view.ceiling_step.value
    shipping = SHIPPING_FACTOR * here.pickle_ns
    # Python's lock lets threads make one batch at a time; processes have to ship every batch.
    in_processes = max(batch / view.cpus, shipping, step)
    count = min(view.cpus, math.ceil(batch / in_processes))
    if WORTH_SHIPPING * in_processes >= max(batch, step) or count < 2:
        return None
    after = max(batch / count, shipping)
    saved = (batch - max(after, step)) * here.length * (view.passes or 1)
    return WorkerProcesses(count, after, saved >= START_PROCESSES_NS)
