"""# progress-printing (CB005)

## What it finds
The progress bar takes a noticeable part of very short steps.

## Why it is slow
`verbose=1` formats and prints after every step, up to 20 times a second, and averages the metrics
in Python each time. In notebooks and slow terminals the printing itself is slow.

## Evidence
Steps on a frozen batch inside Keras's loop, with and without its progress bar, measured in turn:
without the bar the training is at least ${WORTH_GAIN:gain} faster.

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
from fitdoctor.contract.evidence.step import ProgressBar
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at
from fitdoctor.units import duration, percent


class ProgressPrinting(Rule):
    summary = "the progress bar takes a noticeable part of very short steps"
    safety = "safe"
    # Steps started together print together.
    explained_by = frozenset({"HO002", "HO004"})

    def detect(self, view: View) -> Finding | None:
        """The loop with and without a progress bar."""
        measured = view.found(ProgressBar)
        if measured is None or view.is_group:
            return None
        with_bar = from_windows(measured.with_bar.ns)
        without = from_windows(measured.without_bar.ns)
        if with_bar is None or without is None or with_bar.low <= without.high:
            return None
        saved = with_bar.minus(without)
        edits = at(line_of(view.recorded), SetKeyword, "fit", "verbose", "2")
        found = self.finding(
            view,
            f"the progress bar takes {duration(saved.value)} of every step, "
            f"{percent(saved.value / view.costs.total.value)} of it",
            Cure(self.safety, "fit(..., verbose=2)", edits),
            saves={"step": saved},
            evidence={"bar_ns": round(saved.value)},
            how="tried",
        )
        return found if found.gain.value >= WORTH_GAIN else None


RULE = ProgressPrinting()
