"""Worker processes for a PyDataset: whether they help, by how much, and the edit for them."""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import of_new_queue, saved_by
from fitdoctor.pricing.planner import Machine, Step, workers_for
from fitdoctor.rules.support.places import loader_options
from fitdoctor.units import duration, size

# A batch is packed, sent and unpacked: the pipe costs about as much as the packing.
SHIPPING_FACTOR = 2.0
# Worker processes import the script's libraries before their first batch.
START_PROCESSES_NS = 5e9
# Shipping takes time of the cores as well, which the price of processes does not know.
SHARED_ERROR = 0.3
WORTH_PROCESSES = 1.15
# The threads of a pool that ask for a batch and take it (usual, least, most): 1.3 ms beside a step
# of 1 ms on two cores, 0.3 ms where a batch takes 18 ms.
HANDED_OVER_NS = Interval(1e6, 0.3e6, 2e6)


def by_processes(view: View, found: Finding) -> Finding | None:
    """What worker processes give of it, where no one rewrites the Python."""
    count, after = _processes(view)
    if count < 2 or found.cure.edits or _is_too_short(view, after):
        return None
    edits = loader_options(view, workers=str(count), use_multiprocessing="True")
    # The processes and the step share the cores.
    saved = saved_by(
        view,
        Interval(after, after, after * (1.0 + SHARED_ERROR)) + HANDED_OVER_NS,
        overlapped=True,
        cores=float(count),
        first_batches=False,
    ).minus(of_new_queue(view))
    priced = gain(view.costs.total, saved)
    if not edits or priced.value < WORTH_PROCESSES:
        return None
    text = f"worker processes (workers={count}, use_multiprocessing=True)"
    return replace(
        found, gain=priced, cure=Cure("unsafe", text, edits), saves={"input_wait": saved}
    )


def about_processes(view: View) -> str:
    """Whether worker processes would help, from what a batch takes to make and to ship.

    Nothing where they can be given by an edit, which is told beside its price.
    """
    here = view.result("in_process")
    if not here or view.loader is None:
        return "use_multiprocessing=True helps only where batches are small and epochs long"
    payload = size(here["payload_bytes"])
    count, after = _processes(view)
    if count < 2:
        return f"processes would not help (a batch of {payload} has to be shipped)"
    if _is_too_short(view, after):
        return "this run is too short for worker processes to pay"
    if loader_options(view, workers=str(count)):
        return ""
    after = max(after, view.ceiling_step.value)
    return (
        f"if that cannot be done, workers={count}, use_multiprocessing=True: a batch every "
        f"{duration(after)} (batches of {payload})"
    )


def _processes(view: View) -> tuple[int, float]:
    """How many worker processes to make batches in, and the time from one batch to the next.

    Fewer than two: they would not help, or it was not measured what a batch takes to ship.
    """
    here = view.result("in_process")
    if not here or view.loader is None or not here.get("pickle_ns"):
        return 0, 0.0
    batch = view.loader.ns.value
    shipping = SHIPPING_FACTOR * here["pickle_ns"]
    how, count = workers_for(
        batch,
        batch,
        Step(view.ceiling_step.value, view.frozen_cores),
        Machine(view.cpus),
        payload_ns=shipping,
    )
    return (count, max(batch / count, shipping)) if how == "processes" else (0, 0.0)


def _is_too_short(view: View, after: float) -> bool:
    """Whether the run ends before the start of worker processes is paid back."""
    here, loader = view.result("in_process"), view.loader
    if not here or loader is None:
        return True
    batches = here.get("length", 0) * (view.passes or 1)
    saved = loader.ns.value - max(after, view.ceiling_step.value)
    return bool(saved * batches < START_PROCESSES_NS)
