"""# skip-after-decode (IN007)

## What it finds
Training or validation waits for its first batch because `skip` throws away elements that were
loaded and decoded first.

## Why it is slow
`dataset.map(decode).skip(n)` decodes the n skipped elements before every pass. Splitting ids or
file names first skips them for nothing.

## Evidence
- the data is a tf.data pipeline with a `skip` behind a `map`;
- a pass, or the first batch of a validation, was timed as written and with the skip before the map.

## Predicted gain
For validation what lies between two estimates: the difference of the two first batches, once per
validation, and the share of a pass that is left. For training the epochs that the two passes give.

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
The same elements on both sides, as long as no shuffle lies before the split. Unsafe where the map
draws random numbers: other elements then get them.

## When not to
The split is done once and cached.
"""

from __future__ import annotations

import math
from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit, SwapCalls
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing.first_batch import earlier_first_batch
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration

PAGE = __doc__ or ""

# One first batch is timed once; this is how far it may be off.
ERROR = 0.25
LEAST_LEFT = 0.02

SPLIT_FIRST = "split ids or file names first, then map each part"


class SkipAfterDecode:
    """IN007."""

    code = "IN007"
    name = "skip-after-decode"
    summary = "training or validation decodes the elements that it skips"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """The first batch, of training or of validation, comes sooner with the skip moved."""
        return self._training(view) or self._validation(view)

    def _training(self, view: View) -> Finding | None:
        trial, steps = view.result("trial_early_skip"), view.steps_per_epoch
        stage = view.stage(int(trial["stage"])) if trial else None
        if not trial or stage is None or steps is None or view.frozen is None:
            return None
        late, early = trial["pass_as_written"], trial["pass"]
        epochs = earlier_first_batch(view, late, early, steps)
        if epochs is None:
            return None
        where = Where(stage.file, stage.line or 0) if stage.file else None
        safety: Safety = "unsafe" if trial["random"] else self.safety
        place = {"file": stage.file, "line": stage.line, "maps": trial["maps"]}
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"every epoch waits {duration(late['first_ns'])} for its first batch, since "
                f"{trial.get('skipped') or 'the'} skipped elements are decoded first; "
                f"{duration(early['first_ns'])} with the split before the map"
            ),
            gain=gain(view.costs.total, epochs.saved),
            cure=Cure(safety, SPLIT_FIRST, _edits(place)),
            evidence={
                "first_batch_ns": late["first_ns"],
                "first_batch_early_ns": early["first_ns"],
                "skipped": trial.get("skipped"),
                "epoch_ns": round(epochs.now),
                "epoch_after_ns": round(epochs.then),
            },
            saves={"input_wait": epochs.saved},
        )

    def _validation(self, view: View) -> Finding | None:
        measured = view.result("validation_start")
        part = view.costs.parts.get("validation", 0.0)
        steps = sum(call.steps for call in view.recorded.calls)
        times = sum(1 for event in view.recorded.events if event.name == "validation")
        if not measured or not part or not steps or not times:
            return None
        wasted = measured["first_ns"] - measured["early_first_ns"]
        if wasted <= 0:
            return None
        saved = _saved(part, wasted * times / steps, measured)
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
            cure=Cure(self.safety, SPLIT_FIRST, _edits(measured)),
            evidence={
                "first_batch_ns": measured["first_ns"],
                "first_batch_early_ns": measured["early_first_ns"],
                "skipped": measured.get("skipped"),
                "validations": times,
            },
            saves={"validation": saved},
        )


def _saved(part: float, wasted: float, measured: dict[str, Any]) -> Interval:
    """What validation saves per step, of the part that it takes.

    The wait that was timed alone is off where the machine was slower or faster then. The share of a
    pass that is left is not, but knows only of loading, not of what validation computes. What is
    left lies between the two.
    """
    if not measured.get("pass_ns"):
        likely = min(wasted, part * (1 - LEAST_LEFT))
        return Interval(likely, likely / (1 + ERROR), min(part, likely * (1 + ERROR)))
    loading = max(LEAST_LEFT, min(1.0, measured["early_pass_ns"] / measured["pass_ns"]))
    timed = min(1.0, max(loading, 1 - wasted / part))
    left = math.sqrt(loading * timed)
    return Interval(
        part * (1 - left),
        part * (1 - min(1.0, timed * (1 + ERROR))),
        part * (1 - loading / (1 + ERROR)),
    )


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
