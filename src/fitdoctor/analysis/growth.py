"""Whether numbers grow with the steps: the slope that most pairs of them agree on."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from fitdoctor.intervals import Interval

# Fewer looks show noise rather than a trend.
MIN_LOOKS = 6
# What allocators and caches of a framework do at first is no trend.
WARM_UP_SHARE = 0.25
# Each half must grow at this part of the whole's pace: what fills up grows less and less.
AT_PACE = 0.5
# Of the normal distribution: 90 % lie within.
WITHIN = 1.645


def steady_slope(steps: Sequence[int], values: Sequence[int]) -> Interval | None:
    """More per step, after warm-up; None where it does not grow all the time.

    Theil and Sen's slope, the median over all pairs, with Kendall's interval.
    """
    first = math.ceil(WARM_UP_SHARE * len(steps))
    steps, values = steps[first:], values[first:]
    if len(steps) < MIN_LOOKS:
        return None
    whole, half = _slope(steps, values), len(steps) // 2
    if whole.low <= 0:
        return None
    halves = (_slope(steps[:half], values[:half]), _slope(steps[half:], values[half:]))
    return whole if all(one.value >= AT_PACE * whole.value for one in halves) else None


def _slope(steps: Sequence[int], values: Sequence[int]) -> Interval:
    points = list(zip(steps, values, strict=True))
    slopes = sorted(
        (later - earlier) / (after - before)
        for (before, earlier), (after, later) in itertools.combinations(points, 2)
        if after > before
    )
    if not slopes:
        return Interval.exact(0.0)
    count = len(points)
    spread = WITHIN * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = max(0, math.floor((len(slopes) - spread) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + spread) / 2))
    middle = statistics.median(slopes)
    return Interval(middle, min(slopes[low], middle), max(slopes[high], middle))
