"""# padding-waste (MO007)

## What it finds
Most of each batch is padding, and the model computes on it.

## Why it is slow
All sequences of a data set are padded to the longest one. A recurrent layer walks the padding
step by step, and attention squares it. Masks hide the result, not the work.

## Evidence
- in a few of your batches, less than ${FULL_BATCH_SHARE:percent} of the positions are filled;
- the same step, at the length of batches of similar sequences, makes training at least
  ${WORTH_CHANGE:gain} faster; or the model takes no shorter batches, and ${WORTH_CUTTING:percent}
  of the length or less would be enough.

## Predicted gain
The step at the mean length of batches whose rows have similar lengths, plus ${SORT_ONE_NS:us} per
sequence to sort it into its bucket. Buckets double in size, each is as long as its longest row, and
the few longest rows still fill a batch. If shorter batches could not be tried, a bound: time in
proportion to the length.

## Example
```python
x = keras.utils.pad_sequences(sequences, maxlen=500)
```

## Use instead
```python
dataset.bucket_by_sequence_length(length_of, boundaries, batch_sizes)
```

## Fix safety
With a mask the result stays the same except for rounding. Batches contain other rows, in another
order: unsafe.

## When not to
Batches are nearly full, or the model treats positions, not time (an image, a table).
"""

from __future__ import annotations

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.contract import limits
from fitdoctor.contract.evidence.model import Padding
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import WORTH_CHANGE, real_step, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration, percent

# What tf.data was measured to need to put one sequence into its bucket, and the range of it.
SORT_ONE_NS = 22_000.0
SORTING_NS = Interval(SORT_ONE_NS, 0.0, 40_000.0)
# Where no shorter batch could be tried, this part of the length or less must be needed.
WORTH_CUTTING = 0.6


class PaddingWaste(Rule):
    summary = "most of each batch is padding"
    safety = "unsafe"
    numbers_from = (limits,)

    def detect(self, view: View) -> Finding | None:
        """The step at the length that the data needs is faster."""
        padding = view.found(Padding)
        if padding is None or view.frozen is None:
            return None
        if padding.cut is None:
            return self._untried(view, padding)
        shorter = from_windows(padding.cut.ns)
        if shorter is None:
            return None
        with_sorting = shorter + SORTING_NS.scaled(padding.rows)
        cut = tried_change(view, with_sorting.divided_by(view.frozen), WORTH_CHANGE)
        if cut is None:
            return None
        edges = padding.boundaries
        boundaries = f", bucket_boundaries={list(edges)}" if edges else ""
        filled = padding.real / max(1, padding.length)
        return self.finding(
            view,
            f"sequences of {padding.real:.0f} positions on average are padded to "
            f"{padding.length}: {percent(1 - filled)} of each batch is padding; at length "
            f"{padding.bucketed} a step takes {duration(shorter.value)}",
            Cure(self.safety, f"bucket by length (dataset.bucket_by_sequence_length{boundaries})"),
            saves=cut.saves,
            evidence={
                "length": padding.length,
                "mean_length": round(padding.real, 1),
                "bucketed_length": padding.bucketed,
                "step_ns": round(view.frozen.value),
                "shorter_step_ns": round(shorter.value),
            },
            how="tried",
        )

    def _untried(self, view: View, padding: Padding) -> Finding | None:
        """The model takes no shorter batch: what the padding could take at most."""
        if not padding.has_fixed_length or padding.bucketed >= WORTH_CUTTING * padding.length:
            return None
        step = real_step(view)
        most = step * (1.0 - padding.bucketed / padding.length)
        bound = Interval(most, 0.0, most)
        if gain(view.costs.total, bound).value < WORTH_CHANGE:
            return None
        return self.finding(
            view,
            f"sequences of {padding.real:.0f} positions on average are padded to "
            f"{padding.length}; {padding.bucketed} would do, but the model is built for one "
            "length, so that shorter batches could not be tried",
            Cure(
                "advice",
                "pad to the longest sequence that there is, and build the model for that length; "
                "or build it for any length, and bucket",
            ),
            saves={"step": bound},
            evidence={
                "length": padding.length,
                "mean_length": round(padding.real, 1),
                "bucketed_length": padding.bucketed,
            },
            how="bound",
        )


RULE = PaddingWaste()
