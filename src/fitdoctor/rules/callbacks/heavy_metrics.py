"""# heavy-metrics (CB004)

## What it finds
The metrics given to `compile` take a large part of every step.

## Why it is slow
Every metric is updated and read after each step. On small models an AUC or a confusion matrix costs
as much as the training.

## Evidence
The same step without your metrics, on the frozen batch, takes so much less that training would
be at least 10 % faster.

## Predicted gain
The difference between the two.

## Example
```python
model.compile("adam", "binary_crossentropy", metrics=[keras.metrics.AUC()])
```

## Use instead
Compute it after training, in `evaluate`, or once per epoch in a callback.

## Fix safety
The weights stay the same; the logs lose the metric: unsafe.

## When not to
The step takes tens of milliseconds: metrics then are a small part.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import saved_by_change
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

WORTH_GAIN = 1.10


class HeavyMetrics:
    """CB004."""

    code = "CB004"
    name = "heavy-metrics"
    summary = "metrics take a large part of every step"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """Steps with and without metrics differ."""
        left = view.left_by_change("without_metrics")
        if left is None or left.high >= 1.0:
            return None
        saved = saved_by_change(view, left)
        share = 1.0 - left.value
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        call = next(iter(view.compile_calls), None)
        where = None
        if call is not None and call.detail.get("file"):
            where = Where(str(call.detail["file"]), int(call.detail["line"]))
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(f"metrics take {duration(saved.value)} of every step, {percent(share)} of it"),
            gain=priced,
            cure=Cure(self.safety, "compute them in evaluate() or once per epoch"),
            evidence={"metrics_share": round(share, 3)},
            saves={"step": saved},
        )


RULE = HeavyMetrics()
