"""# late-shuffle (IN006)

## What it finds
A shuffle buffer is filled with finished (decoded, augmented) elements at the start of every
epoch, and training stands still until it is full.

## Why it is slow
`shuffle(n)` gives its first element once it holds n. After an expensive `map`, each epoch's first
step waits for n calls of the map, and memory holds n finished elements. Before the map, the buffer
holds ids or file names and is full at once.

## Evidence
- a `shuffle` reads a `map`;
- one pass over the data was timed as written and with the shuffle moved before the map: its first
  batch comes later as written, by at least ${STALL_SHARE:percent} of an epoch.

## Predicted gain
An epoch takes its first batch, plus each further batch or step, whichever is longer. The gain is
the epoch as written over the epoch with the shuffle moved.

## Example
```python
ids.map(load_image).shuffle(3000).batch(32)
```

## Use instead
```python
ids.shuffle(3000).map(load_image).batch(32)
```

## Fix safety
The same samples in another random order.

## When not to
- The data is small, or cached before the shuffle: the buffer fills at once.
- Training runs for one long epoch: one stall does not matter.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import EarlyShuffle
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.pricing import first_batch
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import maps_behind
from fitdoctor.units import duration


class LateShuffle(Rule):
    summary = "a shuffle buffer of finished elements is refilled before every epoch"
    safety = "unsafe"
    numbers_from = (first_batch,)

    def detect(self, view: View) -> Finding | None:
        """A pass with the shuffle moved starts sooner."""
        trial, steps = view.found(EarlyShuffle), view.steps_per_epoch
        if trial is None or view.frozen is None or steps is None or view.passes == 1:
            return None
        stage, late, early = view.stage(trial.stage), trial.as_written, trial.changed
        epochs = first_batch.earlier_first_batch(view, late, early, steps)
        if stage is None or epochs is None:
            return None
        return self.finding(
            view,
            f"every epoch waits {duration(late.first_ns)} for its first batch, until the "
            f"shuffle buffer holds {stage.buffer_size or 'its'} finished elements; "
            f"{duration(early.first_ns)} with the shuffle before the map",
            Cure(
                self.safety,
                "shuffle before the map (ids or names, not finished elements)",
                maps_behind(view, stage),
            ),
            saves={"input_wait": epochs.saved},
            where=line_of(stage),
            evidence={
                "first_batch_ns": late.first_ns,
                "first_batch_early_ns": early.first_ns,
                "epoch_ns": round(epochs.now),
                "epoch_after_ns": round(epochs.then),
                "buffer_size": stage.buffer_size,
            },
        )


RULE = LateShuffle()
