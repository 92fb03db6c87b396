"""# skip-after-decode (IN007)

## What it finds
Validation waits for its first batch because `skip` throws away elements that were loaded and
decoded first.

## Why it is slow
`dataset.map(decode).skip(n)` decodes the n skipped elements before every validation. Splitting
ids or file names first skips them for nothing.

## Evidence
- the validation data is a tf.data pipeline with a `skip` behind a `map`;
- its first batch was timed as written and with the skip before the map.

## Predicted gain
The difference of the two first batches, once per validation; never more than leaves the rest of a
pass, which still has to be loaded.

## Example
```python
decoded = files.map(decode)
train, validation = decoded.take(900), decoded.skip(900)
```

## Use instead
```python
train, validation = files.take(900).map(decode), files.skip(900).map(decode)
```

## Fix safety
The same elements on both sides, as long as no shuffle lies before the split.

## When not to
The split is done once and cached.
"""

from __future__ import annotations

from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit, SwapCalls
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.prediction.joint import gain
from fitdoctor.units import duration

PAGE = __doc__ or ""

# One first batch is timed once; this is how far it may be off.
ERROR = 0.25
LEAST_LEFT = 0.02


class SkipAfterDecode:
    """IN007."""

    code = "IN007"
    name = "skip-after-decode"
    summary = "validation decodes the elements that it skips"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """The first validation batch comes sooner with the skip moved."""
        measured = view.result("validation_start")
        part = view.costs.parts.get("validation", 0.0)
        steps = sum(call.steps for call in view.recorded.calls)
        times = sum(1 for event in view.recorded.events if event.name == "validation")
        if not measured or not part or not steps or not times:
            return None
        wasted = measured["first_ns"] - measured["early_first_ns"]
        if wasted <= 0:
            return None
        # Never more than leaves the rest of a pass, which validation still has to load.
        per_step = min(wasted * times / steps, part * (1 - _left(measured)))
        saved = Interval(per_step, per_step / (1 + ERROR), min(part, per_step * (1 + ERROR)))
        where = Where(measured["file"], measured["line"] or 0) if measured.get("file") else None
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"each validation waits {duration(measured['first_ns'])} for its first batch, "
                f"since {measured.get('skipped') or 'the'} skipped elements are decoded first; "
                f"{duration(measured['early_first_ns'])} with the split before the map"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                self.safety, "split ids or file names first, then map each part", _edits(measured)
            ),
            evidence={
                "first_batch_ns": measured["first_ns"],
                "first_batch_early_ns": measured["early_first_ns"],
                "skipped": measured.get("skipped"),
                "validations": times,
            },
            saves={"validation": saved},
        )


def _left(measured: dict[str, Any]) -> float:
    """What is left of loading one validation with the split moved."""
    if not measured.get("pass_ns"):
        return LEAST_LEFT
    return float(max(LEAST_LEFT, min(1.0, measured["early_pass_ns"] / measured["pass_ns"])))


def _edits(measured: dict[str, Any]) -> tuple[Edit, ...]:
    """The maps above the skip moved behind it, the nearest first."""
    places = measured.get("maps") or ()
    if not measured.get("line") or not all(place and place.get("line") for place in places):
        return ()
    skip = Where(str(measured["file"]), int(measured["line"]))
    return tuple(
        SwapCalls(Where(str(place["file"]), int(place["line"])), "map", "skip", skip)
        for place in places
    )


RULE = SkipAfterDecode()
