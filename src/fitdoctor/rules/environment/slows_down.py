"""# slows-down (EN004)

## What it finds
Steps become slower and slower while training runs.

## Why it is slow
Something grows with every step: a list of tensors that keeps them alive, a graph that gets new
nodes, files that are written into one folder; or the machine throttles as it heats up.

## Evidence
- the last third of the steady steps takes at least 25 % longer than the first third, and the
  middle lies between them;
- shapes do not grow with it.

## Predicted gain
All steps at the pace of the first third.

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
Later batches are larger, as with a curriculum: then they simply cost more.
"""

from __future__ import annotations

import itertools
import statistics

from fitdoctor.analysis.rows import Row, rows_of
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.units import duration

PAGE = __doc__ or ""

SLOWER = 1.25
# Fewer rows, or a shorter run, show noise rather than a trend.
MIN_ROWS = 60
MIN_NS = 5e9
ROWS_PER_THIRD = 5
OTHERS_LIMIT = 0.15
# Of the growth: then that is where it grows.
MOST_OF_IT = 0.5


class SlowsDown:
    """EN004."""

    code = "EN004"
    name = "slows-down"
    summary = "steps become slower and slower"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """A trend over the whole run, not a few slow steps."""
        if view.is_group:
            times = [call.dur for call in view.recorded.calls[1:]]
            pairs = [(float(ns), 1) for ns in times]
        else:
            pairs = [
                (_own(row), row.executions)
                for row in rows_of(view.recorded)
                if row.period is not None
                and not row.compiled
                and (row.others_cores or 0.0) <= OTHERS_LIMIT
            ]
        if len(pairs) < MIN_ROWS or sum(ns for ns, _ in pairs) < MIN_NS:
            return None
        third = len(pairs) // 3
        first, middle, last = (
            statistics.median(ns / n for ns, n in part)
            for part in (pairs[:third], pairs[third : 2 * third], pairs[2 * third :])
        )
        if last < SLOWER * first or not first < middle < last or not _is_steady(pairs, first, last):
            return None
        now = statistics.fmean(ns / n for ns, n in pairs)
        ratio = max(1.0, now / first)
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"the first steps took {duration(first)}, the last ones {duration(last)}, "
                "and they keep growing"
            ),
            gain=Interval(ratio, max(1.0, ratio * 0.85), max(ratio, last / first)),
            cure=Cure(
                self.safety,
                "find what grows with every step: lists that keep tensors, ops added to a graph, "
                "files in one folder",
            ),
            evidence={
                "first_ns": round(first),
                "middle_ns": round(middle),
                "last_ns": round(last),
                "in_callbacks": _grows_in_callbacks(view, last - first),
            },
            saves={"step": Interval.exact(view.costs.total.value * (1 - 1 / ratio))},
        )


def _grows_in_callbacks(view: View, grown: float) -> bool:
    """Whether it is the callbacks that take longer and longer."""
    spent = [row.callbacks / row.executions for row in rows_of(view.recorded)]
    third = len(spent) // 3
    if view.is_group or not third:
        return False
    more = statistics.median(spent[-third:]) - statistics.median(spent[:third])
    return more >= MOST_OF_IT * grown


def _own(row: Row) -> float:
    """A row's time without its input wait, which has its own rules."""
    return max(0.0, float(row.period or 0) - (row.wait or 0.0))


def _is_steady(pairs: list[tuple[float, int]], first: float, last: float) -> bool:
    """Whether the growth is spread over the run: a single jump is another story."""
    tenth = max(ROWS_PER_THIRD, len(pairs) // 10)
    medians = [
        statistics.median(ns / n for ns, n in pairs[i : i + tenth])
        for i in range(0, len(pairs) - tenth + 1, tenth)
    ]
    rises = sum(later > earlier for earlier, later in itertools.pairwise(medians))
    largest = max((later - earlier for earlier, later in itertools.pairwise(medians)), default=0.0)
    return rises >= 0.7 * (len(medians) - 1) and largest <= 0.5 * (last - first) + 0.05 * first


RULE = SlowsDown()
