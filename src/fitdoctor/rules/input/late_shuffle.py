"""# late-shuffle (IN006)

## What it finds
A shuffle buffer is filled with finished (decoded, augmented) elements at the start of every
epoch, and training stands still until it is full.

## Why it is slow
`shuffle(n)` gives its first element when it holds n. Behind an expensive `map`, that is n times
the cost of the map before each epoch's first step, and n finished elements in memory. In front of
it, the buffer holds ids or file names and is full at once.

## Evidence
- a `shuffle` reads a `map`;
- one pass over the data was timed as written and with the shuffle moved before the map: its first
  batch comes later as written, by at least 5 % of an epoch.

## Predicted gain
An epoch = the first batch + each further batch or step, whichever is longer; as written over
moved.

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
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.pricing.first_batch import earlier_first_batch
from fitdoctor.pricing.joint import gain
from fitdoctor.rules.support.places import maps_behind
from fitdoctor.units import duration

PAGE = __doc__ or ""


class LateShuffle:
    """IN006."""

    code = "IN006"
    name = "late-shuffle"
    summary = "a shuffle buffer of finished elements is refilled before every epoch"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """A pass with the shuffle moved starts sooner."""
        trial = view.result("trial_early_shuffle")
        if not trial or view.frozen is None:
            return None
        stage = view.stage(int(trial["stage"]))
        steps = view.steps_per_epoch
        if stage is None or steps is None or view.passes == 1:
            return None
        late, early = trial["pass_as_written"], trial["pass"]
        epochs = earlier_first_batch(view, late, early, steps)
        if epochs is None:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=Where(stage.file, stage.line or 0) if stage.file else None,
            message=(
                f"every epoch waits {duration(late['first_ns'])} for its first batch, until the "
                f"shuffle buffer holds {stage.buffer_size or 'its'} finished elements; "
                f"{duration(early['first_ns'])} with the shuffle before the map"
            ),
            gain=gain(view.costs.total, epochs.saved),
            cure=Cure(
                self.safety,
                "shuffle before the map (ids or names, not finished elements)",
                maps_behind(view, stage),
            ),
            evidence={
                "first_batch_ns": late["first_ns"],
                "first_batch_early_ns": early["first_ns"],
                "epoch_ns": round(epochs.now),
                "epoch_after_ns": round(epochs.then),
                "buffer_size": stage.buffer_size,
            },
            saves={"input_wait": epochs.saved},
        )


RULE = LateShuffle()
