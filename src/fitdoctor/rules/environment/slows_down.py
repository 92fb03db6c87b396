"""# slows-down (EN004)

## What it finds
Steps become slower and slower while training runs.

## Why it is slow
Something grows with every step: a list that keeps tensors alive, a graph that gets new nodes, files
in one folder. Or the machine throttles as it heats up.

## Evidence
- at least ${MIN_ROWS} recorded steps were undisturbed by other processes, ${MIN_NS:s} or more in
  total;
- the last third of them takes at least ${SLOWER:gain} longer than the first third, and the middle
  third is between them;
- the growth is spread over the run: at least ${MOSTLY_RISING:percent} of the changes from one tenth
  of the run to the next go up, and none of them is most of the growth.

## Predicted gain
All steps as fast as the first third.

## Example
```python
history.append(model(x, training=False))        # keeps every tensor alive
```

## Use instead
```python
history.append(float(loss))
```

## Fix safety
Depends on what grows: advice.

## When not to
Later batches are larger, as with a curriculum: they then simply take longer.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from fitdoctor.analysis.rows import rows_of
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration

SLOWER = 1.25
# Fewer rows, or a shorter run, show noise rather than a trend.
MIN_ROWS = 60
MIN_NS = 5e9
ROWS_PER_PART = 5
OTHERS_LIMIT = 0.15
# Of the growth: then that is where it grows.
MOST_OF_IT = 0.5
# From one tenth of the run to the next, this share of the changes must be upwards.
MOSTLY_RISING = 0.7
# No single change may be more than this part of the growth, and this part of the first steps.
LARGEST_JUMP = 0.5
NOISE = 0.05
# Of a step, the user's own code: then that is what grows.
MOST_OF_IT = 0.5
# The first third may have been faster for another reason, too.
LOWER_END = 0.85


class SlowsDown(Rule):
    summary = "steps become slower and slower"
    safety = "advice"
    # Recompiling makes some steps slower than others.
    explained_by = frozenset({"CO001", "CO002"})

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """Also by code of the user's own that grows: a callback's, or around a loop's step."""
        shares = [one.evidence.get("own_code_share") for one in others]
        if any(isinstance(share, float) and share >= MOST_OF_IT for share in shares):
            return True
        if finding.evidence.get("in_callbacks") and any(one.rule == "CB001" for one in others):
            return True
        return super().is_explained(finding, others, kept)

    def detect(self, view: View) -> Finding | None:
        """A trend over the whole run, not a few slow steps."""
        steps = _steps(view)
        if len(steps) < MIN_ROWS or sum(ns for ns, _ in steps) < MIN_NS:
            return None
        each = [ns / count for ns, count in steps]
        third = len(each) // 3
        first, middle, last = (
            statistics.median(part)
            for part in (each[:third], each[third : 2 * third], each[2 * third :])
        )
        if last < SLOWER * first or not first < middle < last or not _is_steady(each, first, last):
            return None
        ratio = max(1.0, statistics.fmean(each) / max(1.0, first))
        return self.finding(
            view,
            f"the first steps took {duration(first)}, the last ones {duration(last)}, "
            "and they keep growing",
            Cure(
                self.safety,
                "find what grows with every step: lists that keep tensors, ops added to a graph, "
                "files in one folder",
            ),
            saves={"step": Interval.exact(view.costs.total.value * (1 - 1 / ratio))},
            predicted=Interval(
                ratio, max(1.0, LOWER_END * ratio), max(ratio, last / max(1.0, first))
            ),
            evidence={
                "first_ns": round(first),
                "middle_ns": round(middle),
                "last_ns": round(last),
                "in_callbacks": _grows_in_callbacks(view, last - first),
            },
        )


def _steps(view: View) -> list[tuple[float, int]]:
    """Time and number of steps of every undisturbed row; of a group, of every call."""
    if view.is_group:
        return [(float(call.dur), 1) for call in view.recorded.calls[1:]]
    return [
        # Without its input wait, which has its own rules.
        (max(0.0, float(row.period) - (row.wait or 0.0)), row.executions)
        for row in rows_of(view.recorded)
        if row.period is not None and not row.compiled and (row.others_cores or 0.0) <= OTHERS_LIMIT
    ]


def _grows_in_callbacks(view: View, grown: float) -> bool:
    """Whether it is the callbacks that take longer and longer."""
    spent = [row.callbacks / row.executions for row in rows_of(view.recorded)]
    third = len(spent) // 3
    if view.is_group or not third:
        return False
    more = statistics.median(spent[-third:]) - statistics.median(spent[:third])
    return more >= MOST_OF_IT * grown


def _is_steady(each: list[float], first: float, last: float) -> bool:
    """Whether the growth is spread over the run: a single jump has another cause."""
    tenth = max(ROWS_PER_PART, len(each) // 10)
    medians = [
        statistics.median(each[i : i + tenth]) for i in range(0, len(each) - tenth + 1, tenth)
    ]
    changes = [later - earlier for earlier, later in itertools.pairwise(medians)]
    rises = sum(change > 0 for change in changes)
    largest = max(changes, default=0.0)
    return (
        rises >= MOSTLY_RISING * (len(medians) - 1)
        and largest <= LARGEST_JUMP * (last - first) + NOISE * first
    )


RULE = SlowsDown()
