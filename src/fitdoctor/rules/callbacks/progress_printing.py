"""# progress-printing (CB005)

## What it finds
The progress bar takes a noticeable part of very short steps.

## Why it is slow
`verbose=1` formats and prints after every step, up to 20 times a second, and averages the metrics
in Python each time. In notebooks and slow terminals the printing itself is slow.

## Evidence
Steps on a frozen batch inside Keras's loop, with and without its progress bar, measured in turn:
the bar makes them at least 10 % slower.

## Predicted gain
The measured difference.

## Example
```python
model.fit(x, y, batch_size=8)
```

## Use instead
```python
model.fit(x, y, batch_size=8, verbose=2)        # one line per epoch
```

## Fix safety
The training stays the same: safe.

## When not to
Steps longer than a few milliseconds: the bar is then far below 1 %.
"""

from __future__ import annotations

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

WORTH_GAIN = 1.10


class ProgressPrinting:
    """CB005."""

    code = "CB005"
    name = "progress-printing"
    summary = "the progress bar takes a noticeable part of very short steps"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """The loop with and without a progress bar."""
        data = view.result("progress_bar")
        if data is None or view.is_group:
            return None
        with_bar, without = from_windows(data["with"]["ns"]), from_windows(data["without"]["ns"])
        if with_bar is None or without is None or with_bar.low <= without.high:
            return None
        saved = with_bar.minus(without)
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        recorded = view.recorded
        where = place_of(recorded)
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"the progress bar takes {duration(saved.value)} of every step, "
                f"{percent(saved.value / view.costs.total.value)} of it"
            ),
            gain=priced,
            cure=Cure(
                self.safety,
                "fit(..., verbose=2)",
                (SetKeyword(where, "fit", "verbose", "2"),) if where and where.line else (),
            ),
            evidence={"bar_ns": round(saved.value)},
            saves={"step": saved},
        )


RULE = ProgressPrinting()
