"""# shipping-batches (IN008)

## What it finds
Worker processes make the batches, and sending them to the training process takes longer than
making them. Or the workers start again for every epoch, and training waits for that.

## Why it is slow
A batch from another process is pickled, sent through a pipe and unpickled. For large batches that
are quickly made, this costs more than making them in a thread of the training process. A torch
`DataLoader` ends its workers with each epoch and starts new ones for the next; where they are
spawned, each imports the script and its libraries again.

## Evidence
- a real step takes longer than one on a frozen batch (gain of ${WORTH_GAIN:gain} or more), and
  loading explains at least ${EXPLAINED_SHARE:percent} of the difference;
- the loader uses processes, and one batch made in this process, by one thread, takes less than
  ${CLEARLY_LESS:percent} of the time that a batch from the workers takes;
- or: training waits for the first batches of later epochs in at least ${WORTH_SHARE:percent} of the
  time, and ${STARTS} fresh starts of the loader take at least ${START_SHARE:percent} of such a
  wait.

## Predicted gain
Batches made by one thread of this process, overlapped with the step. For persistent workers:
without the waits for first batches and without the time to end the workers.

## Example
```python
Images(workers=2, use_multiprocessing=True)      # 57 MB a batch
```

## Use instead
```python
Images(workers=2, use_multiprocessing=False)
torch.utils.data.DataLoader(data, num_workers=2, persistent_workers=True)
```

## Fix safety
The same batches in the same order: Keras keeps the order with threads and with processes. Code that
is not thread-safe needs `workers=1`. Persistent workers draw other random numbers, and a loader
without its own `generator` draws another order: unsafe.

## When not to
Batches are small and slow Python code makes them: then processes are right.
"""

from __future__ import annotations

from collections import Counter

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import BatchInProcess, LoaderAlone
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import input_place, loader_options
from fitdoctor.units import duration, size

# Made here in less than this share of the time: shipping is the cost, not noise.
CLEARLY_LESS = 0.8
# Waiting for first batches is worth reporting from this share of the time on.
WORTH_SHARE = 0.1
# Fresh starts of the loader take at least this part of such a wait: it is the start.
START_SHARE = 0.5
# Keras asks for the next epoch's data when an epoch ends, and again when the next begins: workers
# that do not stay are started twice, and the first ones ended while they work.
STARTS = 2
# Of that wait, a first batch from workers that are up takes this much.
FIRST_BATCH = 0.05
# At worst, so much of it is starting, and the rest the batch.
STARTING = 0.5
# Between epochs, workers are ended; most of that gap is theirs.
ENDING = 0.8
LEAST_ENDING = 0.5


class ShippingBatches(Rule):
    summary = "worker processes cost more than they give: shipping batches, or starting every epoch"
    safety = "safe"
    numbers_from = (loading,)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """Processes are used, and one thread is faster, or their start takes the time."""
        return self._shipping(view) or self._restarting(view)

    def _restarting(self, view: View) -> Finding | None:
        costs, facts = view.costs, view.input
        steps = view.steps_per_epoch or _steps_per_pass(view)
        if facts.kind != "DataLoader" or not facts.workers or not steps or facts.persistent:
            return None
        ending = costs.parts.get("epoch_gap", 0.0)
        waited = (costs.first_waits + ending) * steps
        alone = view.found(LoaderAlone)
        started = alone.first_batch_ns if alone is not None else 0
        worth = costs.first_waits + ending >= WORTH_SHARE * costs.total.value
        if not worth or STARTS * started < START_SHARE * waited:
            return None
        first = costs.first_waits * (1 - FIRST_BATCH)
        saved = Interval(
            first + ENDING * ending, first + LEAST_ENDING * ending, costs.first_waits + ending
        )
        return self.finding(
            view,
            f"{facts.workers} worker process{'es' if facts.workers > 1 else ''} "
            f"started again for every epoch: its first batch comes {duration(waited)} after the "
            f"last one, and an epoch has {steps:.0f} steps of {duration(view.core.value)}",
            Cure(
                "unsafe",
                "persistent_workers=True: the workers stay; random numbers and order may differ",
                loader_options(view, persistent_workers="True"),
            ),
            saves={"input_wait": saved},
            where=place_of(facts.made or facts),
            evidence={
                "first_batch_ns": round(waited),
                "fresh_start_ns": started,
                "steps_per_epoch": round(steps),
                "workers": facts.workers,
            },
        )

    def _shipping(self, view: View) -> Finding | None:
        loader, here, made = view.loader, view.found(BatchInProcess), view.timed(BatchInProcess)
        if loader is None or here is None or made is None or not view.input.use_multiprocessing:
            return None
        if not loading.input_is_slow(view) or made.high > CLEARLY_LESS * loader.ns.value:
            return None
        # Workers begin with several batches at once: the first does not come a batch's time late.
        saved = loading.saved_by(view, made, overlapped=True, first_batches=False)
        workers = view.input.workers
        return self.finding(
            view,
            f"a batch of {size(here.payload_bytes)} takes {duration(loader.ns.value)} from "
            f"{'the' if workers is None else workers} worker processes, "
            f"{duration(made.value)} when made in this process",
            Cure(
                self.safety,
                "use_multiprocessing=False: threads share memory",
                loader_options(view, use_multiprocessing="False"),
            ),
            saves={"input_wait": saved + _saved_restarts(view)},
            where=input_place(view),
            evidence={
                "loader_ns": round(loader.ns.value),
                "in_process_ns": round(made.value),
                "payload_bytes": here.payload_bytes,
                "pickle_ns": here.pickle_ns,
                "workers": workers,
                "frozen_step_ns": round(view.ceiling_step.value),
            },
        )


def _steps_per_pass(view: View) -> float | None:
    """Of a hand-written loop, in the passes over its loader that it was seen to finish."""
    passes = Counter[int]()
    for block in view.recorded.blocks:
        passes[block.epoch] += len(block.t)
    return float(max(passes.values())) if len(passes) > 1 else None


def _saved_restarts(view: View) -> Interval:
    """What starting and ending the processes with every epoch takes; threads are there at once."""
    starting = view.costs.first_waits
    ending = view.costs.parts.get("epoch_gap", 0.0) if starting else 0.0
    return Interval(
        starting * (1 - FIRST_BATCH) + ENDING * ending, starting * STARTING, starting + ending
    )


RULE = ShippingBatches()
