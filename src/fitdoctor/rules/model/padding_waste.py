"""# padding-waste (MO007)

## What it finds
Most of each batch is padding, and the model computes on it.

## Why it is slow
All sequences of a data set are padded to the longest one. A recurrent layer walks the padding
step by step, attention squares it; masks hide the result, not the work.

## Evidence
- in a few of your batches, less than 70 % of the positions are filled;
- the same step at the length that batches of like sequences would have is faster.

## Predicted gain
The step at the mean length that is left when rows of like length share a batch (in buckets that
double in size, each as long as its longest row; the few longest rows still fill a batch), and
0.02 ms per sequence to sort them.

## Example
```python
x = keras.utils.pad_sequences(sequences, maxlen=500)
```

## Use instead
```python
dataset.bucket_by_sequence_length(length_of, boundaries, batch_sizes)
```

## Fix safety
With a mask the result stays the same but for rounding; batches are made of other rows, in another
order: unsafe.

## When not to
Batches are nearly full, or the model treats positions, not time (an image, a table).
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import saved_by_change
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

WORTH_GAIN = 1.15


# What tf.data needs to put one sequence into its bucket: 22 µs were measured (usual, least, most).
SORTING_NS = Interval(22_000.0, 0.0, 40_000.0)


class PaddingWaste:
    """MO007."""

    code = "MO007"
    name = "padding-waste"
    summary = "most of each batch is padding"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The step at the length that the data needs is faster."""
        data, shorter = view.result("padding"), view.probe_ns("padding")
        if data is None or shorter is None or view.frozen is None:
            return None
        # Sequences are sorted into buckets one by one.
        sorting = SORTING_NS.scaled(float(data.get("rows") or 0))
        saved = saved_by_change(view, (shorter + sorting).divided_by(view.frozen))
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        filled = float(data["real"]) / float(data["length"])
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"sequences of {data['real']:.0f} positions on average are padded to "
                f"{data['length']}: {percent(1 - filled)} of each batch is padding; at length "
                f"{data['bucketed']} a step takes {duration(shorter.value)}"
            ),
            gain=priced,
            cure=Cure(self.safety, _in_words(data.get("boundaries"))),
            evidence={
                "length": int(data["length"]),
                "mean_length": round(float(data["real"]), 1),
                "bucketed_length": int(data["bucketed"]),
                "step_ns": round(view.frozen.value),
                "shorter_step_ns": round(shorter.value),
            },
            saves={"step": saved},
        )


def _in_words(boundaries: list[int] | None) -> str:
    edges = f", bucket_boundaries={boundaries}" if boundaries else ""
    return f"bucket by length (dataset.bucket_by_sequence_length{edges})"


RULE = PaddingWaste()
