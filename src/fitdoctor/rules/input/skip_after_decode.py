"""# skip-after-decode (IN007)

## What it finds
Elements are loaded and decoded, and then thrown away. A `skip` makes training or validation wait
for its first batch. A `filter` wastes work in every batch.

## Why it is slow
`dataset.map(decode).skip(n)` decodes the n skipped elements before every pass. Skipping ids or
file names first costs nothing. A `filter` after a `map` decides on finished elements, and may keep
one in ten.

## Evidence
- the data is a tf.data pipeline with a `skip` after a `map`;
- a pass, or the first batch of a validation, was timed as written and with the skip before the map;
- in training, the first batch comes sooner by at least ${STALL_SHARE:percent} of an epoch;
- or: a `filter` after a `map` drops ${DROPPED_SHARE:percent} of the elements or more (counted), the
  work on these is ${WASTED_SHARE:percent} of the pipeline's own time or more (measured stage by
  stage), and training waits for its data.

## Predicted gain
For validation, a value between two estimates: the difference of the two first batches, once per
validation (off by ${ERROR:percent} at most), and the share of a pass that is left. For training,
the epochs that the two passes give. For a filter, the loader without the work on dropped elements.

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
The same elements on both sides, if no shuffle comes before the split. Unsafe if the map draws
random numbers: other elements then get them. A `filter` is moved past a map only if the tried
elements of your data came out the same, bit for bit. Otherwise it is advice.

## When not to
The split is done once and cached.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fitdoctor.analysis.dropped_elements import DroppedElements, dropped_elements
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import EarlySkip, ValidationStart
from fitdoctor.contract.evidence.plans import InputPlans
from fitdoctor.contract.places import CodeLine
from fitdoctor.findings.edits import Edit, SwapCalls
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import Where, line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import first_batch, loading
from fitdoctor.rules.rule import Rule, with_cure
from fitdoctor.units import duration, percent

# One first batch is timed once; this is how far it may be off.
ERROR = 0.25
# Something of a validation is always left.
LEAST_LEFT = 0.02

# A filter that drops less, or work on it that is less of the pipeline, is not what to change.
DROPPED_SHARE = 0.3
WASTED_SHARE = 0.2

SPLIT_FIRST = "split ids or file names first, then map each part"


class SkipAfterDecode(Rule):
    summary = "elements are decoded first and thrown away then"
    safety = "safe"
    numbers_from = (first_batch,)

    def detect(self, view: View) -> Finding | None:
        """The first batch, of training or of validation, comes sooner with the skip moved."""
        return self._training(view) or self._validation(view) or self._filtered(view)

    def _filtered(self, view: View) -> Finding | None:
        """A filter that drops what a map has made."""
        found, loader = dropped_elements(view.stages), view.loader
        if found is None or loader is None or not loading.input_is_slow(view):
            return None
        if found.dropped < DROPPED_SHARE or found.left > 1.0 - WASTED_SHARE:
            return None
        after = Interval.around(loader.ns.value * found.left, ERROR)
        last = found.maps[0]
        whole = self.finding(
            view,
            f"a filter drops {percent(found.dropped)} of the elements that a map has made: of "
            f"{duration(loader.ns.value)} per batch, {percent(1 - found.left)} is work on these",
            Cure(
                "advice",
                "filter before the map, by what the elements are made from (ids, labels, raw "
                "values)",
            ),
            saves={"input_wait": loading.saved_by(view, after, overlapped=False)},
            where=line_of(found.filter) or line_of(last),
            evidence={
                "dropped_share": round(found.dropped, 3),
                "wasted_ns": round(found.wasted_ns),
                "loader_ns": round(loader.ns.value),
                "map_line": last.line,
            },
        )
        return _with_moves(view, found, whole)

    def _training(self, view: View) -> Finding | None:
        trial, steps = view.found(EarlySkip), view.steps_per_epoch
        if trial is None or steps is None or view.frozen is None:
            return None
        stage, late, early = view.stage(trial.stage), trial.as_written, trial.changed
        epochs = first_batch.earlier_first_batch(view, late, early, steps)
        if stage is None or epochs is None:
            return None
        where = line_of(stage)
        safety: Safety = "unsafe" if trial.random else self.safety
        return self.finding(
            view,
            f"every epoch waits {_waits(late.first_ns, early.first_ns, trial.skipped)}",
            Cure(safety, SPLIT_FIRST, _edits(where, trial.maps)),
            saves={"input_wait": epochs.saved},
            where=where,
            evidence={
                "first_batch_ns": late.first_ns,
                "first_batch_early_ns": early.first_ns,
                "skipped": trial.skipped,
                "epoch_ns": round(epochs.now),
                "epoch_after_ns": round(epochs.then),
            },
        )

    def _validation(self, view: View) -> Finding | None:
        measured = view.found(ValidationStart)
        part = view.costs.parts.get("validation", 0.0)
        steps = sum(call.steps for call in view.recorded.calls)
        times = sum(1 for event in view.recorded.events if event.name == "validation")
        if measured is None or not part or not steps or not times:
            return None
        late, early = measured.first_ns, measured.early_first_ns
        if late <= early:
            return None
        where = line_of(measured)
        return self.finding(
            view,
            f"each validation waits {_waits(late, early, measured.skipped)}",
            Cure(self.safety, SPLIT_FIRST, _edits(where, measured.maps)),
            saves={"validation": _saved(part, (late - early) * times / steps, measured)},
            where=where,
            evidence={
                "first_batch_ns": late,
                "first_batch_early_ns": early,
                "skipped": measured.skipped,
                "validations": times,
            },
        )


def _with_moves(view: View, found: DroppedElements, whole: Finding) -> Finding:
    """The finding with an edit, where the filter gave the same elements before some of the maps."""
    plans, loader = view.found(InputPlans), view.loader
    for row in plans.rows if plans is not None else ():
        order = row.plan.order
        passed = [one for one in found.maps if _comes_after(order, one.n, found.filter.n)]
        where = line_of(found.filter)
        edits = _edits(where, passed, "filter") if passed and not any(m.via for m in passed) else ()
        if not edits or loader is None:
            continue
        saved_ns = found.dropped * sum(one.own_ns or 0.0 for one in passed)
        after = Interval.around(loader.ns.value * (1.0 - saved_ns / found.whole_ns), ERROR)
        cure = Cure(
            "safe" if row.same else "unsafe",
            "filter before the map: the same elements passed it here",
            edits,
        )
        part = with_cure(view, whole, cure, loading.saved_by(view, after, overlapped=False))
        return part if len(passed) == len(found.maps) else replace(whole, partly=part)
    return whole


def _comes_after(order: Sequence[int], number: int, other: int) -> bool:
    """Whether a stage comes after another in an order that begins with the last one."""
    return number in order and other in order and order.index(number) < order.index(other)


def _waits(late: float, early: float, skipped: int | None) -> str:
    return (
        f"{duration(late)} for its first batch, since {skipped or 'the'} skipped elements are "
        f"decoded first; {duration(early)} with the split before the map"
    )


def _saved(part: float, wasted: float, measured: ValidationStart) -> Interval:
    """What validation saves per step, of the part that it takes.

    The wait that was timed alone is off where the machine was slower or faster then. The share of a
    pass that is left is not, but knows only of loading, not of what validation computes. What is
    left lies between the two.
    """
    if not measured.pass_ns:
        likely = min(wasted, part * (1 - LEAST_LEFT))
        return Interval(likely, likely / (1 + ERROR), min(part, likely * (1 + ERROR)))
    loading = max(LEAST_LEFT, min(1.0, measured.early_pass_ns / measured.pass_ns))
    timed = min(1.0, max(loading, 1 - wasted / part))
    left = math.sqrt(loading * timed)
    return Interval(
        part * (1 - left),
        part * (1 - min(1.0, timed * (1 + ERROR))),
        part * (1 - loading / (1 + ERROR)),
    )


def _edits(
    later: Where | None, maps: Iterable[CodeLine | StageCost | None], op: str = "skip"
) -> tuple[Edit, ...]:
    """The maps before a stage moved after it, the nearest first; nothing where one is unknown."""
    places = [line_of(one) for one in maps]
    if later is None or not all(places):
        return ()
    return tuple(SwapCalls(one, "map", op, later) for one in places if one is not None)


RULE = SkipAfterDecode()
