"""# per-batch-callback (CB001)

## What it finds
A callback does real work after every batch: an evaluation, a prediction, a plot, a log.

## Why it is slow
Its time is added to every step. On JAX and torch it also waits for the device, which otherwise
runs ahead.

## Evidence
- your callback's batch hooks, measured by name, take time on the training thread;
- without that time the training would gain ${LISTED_FROM_GAIN:gain} or more.

## Predicted gain
The step without that time, except for one call in ${EVERY}. For a callback that works only at one
batch in ${RARELY} or fewer: except for one call per epoch. A callback that takes
${MOSTLY_CALLBACK:percent} of the time or more also slows the steps around it. The prediction is
then halfway between the step on a frozen batch and the rest as measured, the ends of the interval.

## Example
```python
class Monitor(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.scores.append(self.model.evaluate(x_val, y_val, verbose=0))
```

## Use instead
```python
    def on_train_batch_end(self, batch, logs=None):
        if batch % 50 == 0:
            self.scores.append(self.model.evaluate(x_val, y_val, verbose=0))
```
or `on_epoch_end`.

## Fix safety
The weights stay the same on TensorFlow and JAX. The callback's records become coarser, so the cure
is unsafe. A callback that changes the training (learning rate, early stop) acts later.

## When not to
The callback only reads `logs`: its cost is then small, and `self.async_safe = True` removes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.costs import BUILT_IN_CALLBACKS, CHECKPOINT_CALLBACKS
from fitdoctor.analysis.view import View
from fitdoctor.contract.records import CallbackTotal
from fitdoctor.findings import ranking
from fitdoctor.findings.edits import SkipBatches
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import saved_leaving
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at
from fitdoctor.units import duration, percent

EVERY = 50  # batches between two calls after the cure
# Keras's own; what they cost is another rule's matter (progress printing, checkpoints).
OTHER_RULES = CHECKPOINT_CALLBACKS | BUILT_IN_CALLBACKS
# How well the step without the callback is known.
MEASURED_ERROR = 0.1
MOSTLY_CALLBACK = 0.5
# Most of a callback's work lies in so few batches that it works at one in three at most.
MOST_OF_THE_WORK = 0.8
RARELY = 3


class PerBatchCallback(Rule):
    summary = "a callback does real work after every batch"
    safety = "unsafe"
    numbers_from = (ranking,)

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """A callback that writes files after every batch is CB003's, which knows its options."""
        name = finding.evidence.get("callback")
        return any(f.rule == "CB003" and f.evidence.get("callback") == name for f in others)

    def detect(self, view: View) -> Finding | None:
        """Time in one callback's batch hooks, on the training thread."""
        heaviest = _heaviest(view)
        if heaviest is None or view.is_group:
            return None
        per_step = min(heaviest.ns / view.costs.steps, view.costs.parts.get("callbacks", 0.0))
        if per_step <= 0:
            return None
        total = view.costs.total
        every = _works_every(view)
        kept = every / max(EVERY, view.steps_per_epoch or EVERY) if every > 1 else 1 / EVERY
        left = _without(view, per_step) + Interval.around(per_step * min(1.0, kept), MEASURED_ERROR)
        where = line_of(heaviest)
        found = self.finding(
            view,
            f"{heaviest.name} takes {_how_often(per_step, every)}, "
            f"{percent(per_step / total.value)} of a step",
            # A hook that counts batches itself would no longer meet its own condition.
            Cure(self.safety, _advice(every), at(where, SkipBatches, EVERY) if every <= 1 else ()),
            saves={"callbacks": saved_leaving(total, left)},
            evidence={
                "callback": heaviest.name,
                "ns_per_step": round(per_step),
                "calls": heaviest.count,
                "works_every": round(every),
            },
        )
        # A callback whose place is not known is not at the line that trains.
        return replace(found, where=where)


def _works_every(view: View) -> float:
    """Batches from one that the callbacks work at to the next; 1 where that is every batch.

    A callback that counts batches itself does nothing after most of them.
    """
    rows = sorted((ns for block in view.recorded.blocks for ns in block.callbacks), reverse=True)
    wanted, seen = MOST_OF_THE_WORK * sum(rows), 0.0
    for count, ns in enumerate(rows, 1):
        seen += ns
        if seen >= wanted:
            every = MOST_OF_THE_WORK * len(rows) / count
            return every if every >= RARELY else 1.0
    return 1.0


def _how_often(per_step: float, every: float) -> str:
    if every <= 1:
        return f"{duration(per_step)} after every batch"
    return f"{duration(per_step * every)} after every {every:.0f}th batch"


def _advice(every: float) -> str:
    if every <= 1:
        return f"do it every {EVERY} batches, or in on_epoch_end"
    return "do it less often still, or in on_epoch_end"


def _without(view: View, per_step: float) -> Interval:
    """A step without the callback.

    Where the callback takes most of the time it also slows the steps between its calls
    (cold caches, a stopped device). A frozen batch shows the least that they would take,
    without Keras's loop; as measured they take the most. Halfway is what comes nearest.
    """
    rest = view.costs.total.value - per_step
    if view.frozen is None or per_step < MOSTLY_CALLBACK * view.costs.total.value:
        return Interval.around(rest, MEASURED_ERROR)
    least = min(rest, view.frozen.value + view.costs.parts.get("input_wait", 0.0))
    return Interval((least + rest) / 2.0, least * (1 - MEASURED_ERROR), rest * (1 + MEASURED_ERROR))


def _heaviest(view: View) -> CallbackTotal | None:
    candidates = [
        total
        for total in view.recorded.callbacks
        if total.hook == "batch" and total.name not in OTHER_RULES
    ]
    return max(candidates, key=lambda total: total.ns, default=None)


RULE = PerBatchCallback()
