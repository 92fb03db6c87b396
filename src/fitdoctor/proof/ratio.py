"""How many times faster, with an interval: paired log ratios of runs that alternate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from fitdoctor.intervals import Interval

# The interval of a proof: a pair of equal scripts is called faster once in forty times.
CONFIDENCE = 0.95
# From fewer pairs the spread itself is not known.
LEAST_PAIRS = 3
# Two processes of one script differ by about this much in ways that pairs do not show
# (addresses, placement of threads), so no interval is narrower.
NOISE_FLOOR = 0.005


def ratio_of(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """Before / after with its interval (Student's t on log ratios); None from too few pairs.

    Example:
        >>> ratio_of([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]).value
        2.0
    """
    if len(before) != len(after):
        raise ValueError(f"pairs are needed, received {len(before)} and {len(after)} times")
    if len(before) < LEAST_PAIRS:
        return None
    from scipy import stats

    logs = [math.log(b / a) for b, a in zip(before, after, strict=True)]
    middle = statistics.fmean(logs)
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(logs) - 1))
    half = max(reach * error, NOISE_FLOOR)
    value = math.exp(middle)
    return Interval(value, min(value, math.exp(middle - half)), max(value, math.exp(middle + half)))


def is_tight(interval: Interval | None, precision: float) -> bool:
    """Whether the interval reaches no farther than the precision, as a factor."""
    if interval is None:
        return False
    return interval.high / interval.value <= 1 + precision
