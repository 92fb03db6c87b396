"""Long series as few points: every group keeps its shortest, typical and longest value."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# About as many points as a wide screen has columns; more cannot be told apart.
MOST_POINTS = 1500
# All plots of steps together, so that a page with many of them can still be sent by mail.
ALL_POINTS = 2400
# A plot of a resource says how busy the machine was, not when exactly.
RESOURCE_POINTS = 500


@dataclass(frozen=True)
class Thinned:
    """A series for a plot; with `group` 1 every value is there."""

    x: list[float]
    middle: list[float | None]
    low: list[float | None]
    high: list[float | None]
    group: int  # values behind one point

    @property
    def is_thinned(self) -> bool:
        """Whether a point stands for more than one value."""
        return self.group > 1


def thin(x: Sequence[float], y: Sequence[float | None], most: int = MOST_POINTS) -> Thinned:
    """Group neighbours so that at most `most` points are left; no extreme value is lost.

    Example:
        >>> thin([0, 1, 2, 3], [5.0, 7.0, None, 1.0], most=2).high
        [7.0, 1.0]
    """
    group = max(1, -(-len(x) // most))
    if group == 1:
        values = list(y)
        return Thinned(list(x), values, values, values, 1)
    starts = range(0, len(x), group)
    known = [[v for v in y[i : i + group] if v is not None] for i in starts]
    return Thinned(
        x=[float(x[i]) for i in starts],
        middle=[statistics.median(values) if values else None for values in known],
        low=[min(values, default=None) for values in known],
        high=[max(values, default=None) for values in known],
        group=group,
    )


def with_gaps(series: Thinned, breaks: Sequence[int]) -> Thinned:
    """The series with a hole after each of these values, so that no line is drawn across it.

    Example:
        >>> with_gaps(thin([0, 1, 9], [5.0, 7.0, 6.0]), [1]).middle
        [5.0, 7.0, None, 6.0]
    """
    ends = {number // series.group for number in breaks} - {len(series.x) - 1}
    if not ends:
        return series
    x = list(series.x)
    middle, low, high = list(series.middle), list(series.low), list(series.high)
    # From the end, so that the places of the holes before stay the same.
    for end in sorted(ends, reverse=True):
        x.insert(end + 1, (x[end] + x[end + 1]) / 2)
        for line in (middle, low, high):
            line.insert(end + 1, None)
    return Thinned(x, middle, low, high, series.group)


def rounded(values: Sequence[float | None], digits: int = 4) -> list[float | None]:
    """Values with the digits that a plot can show, so that the page stays small."""
    return [None if value is None else float(f"{value:.{digits}g}") for value in values]
