"""# heavy-metrics (CB004)

## What it finds
The metrics given to `compile` take a large part of every step.

## Why it is slow
Keras updates and reads every metric after each step. On small models an AUC or a confusion matrix
costs as much as the training.

## Evidence
On the frozen batch the same step without your metrics is faster, by enough to make training at
least ${WORTH_GAIN:gain} faster.

## Predicted gain
The difference between the two.

## Example
```python
model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.AUC()])
```

## Use instead
Compute it after training, in `evaluate`, or once per epoch in a callback.

## Fix safety
The weights stay the same. The logs lose the metric: unsafe.

## When not to
The step takes tens of milliseconds: metrics are then a small part.
"""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.model_change import saved_by_change
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration, percent


class HeavyMetrics(Rule):
    summary = "metrics take a large part of every step"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """Steps with and without metrics differ."""
        left = view.left_by_change("without_metrics")
        if left is None or left.high >= 1.0:
            return None
        saved = saved_by_change(view, left)
        share = 1.0 - left.value
        found = self.finding(
            view,
            f"metrics take {duration(saved.value)} of every step, {percent(share)} of it",
            Cure(self.safety, "compute them in evaluate() or once per epoch"),
            saves={"step": saved},
            evidence={"metrics_share": round(share, 3)},
            how="tried",
        )
        if found.gain.value < WORTH_GAIN:
            return None
        # Metrics are named in compile(), never at the line that trains.
        first = view.compile_calls[0].detail if view.compile_calls else None
        return replace(found, where=place_of(first))


RULE = HeavyMetrics()
