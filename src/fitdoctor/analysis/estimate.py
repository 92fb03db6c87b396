"""A quantity measured in windows, with the interval that its own spread gives it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from fitdoctor.contract.evidence.timing import TimedBeside
from fitdoctor.intervals import Interval

# Windows a second apart differ by this much on a quiet machine for no reason we can name.
NOISE_FLOOR = 0.03
_Z_90 = 1.645
# A robust standard error of a median: 1.2533 * sigma / sqrt(n), sigma from the quartiles.
_MEDIAN_FACTOR = 1.2533
_IQR_TO_SIGMA = 1.349


def from_windows(values: Sequence[float]) -> Interval | None:
    """The median of windows with a 90 % interval; None without any window."""
    if not values:
        return None
    middle = float(statistics.median(values))
    spread = _spread(values) / math.sqrt(len(values))
    half = max(_Z_90 * _MEDIAN_FACTOR * spread, NOISE_FLOOR * middle)
    return Interval(middle, max(middle * 0.2, middle - half), middle + half)


def ratio_in_turns(found: TimedBeside) -> Interval | None:
    """What a change leaves of a step, where both were timed in turns: the median of the rounds."""
    pairs = zip(found.ns, found.base_ns or (), strict=False)
    return from_windows([after / before for after, before in pairs if before > 0])


def from_means(values: Sequence[float], weights: Sequence[float]) -> Interval | None:
    """The weighted mean of window means, for quantities whose rare long windows count too."""
    total = sum(weights)
    if not values or total <= 0:
        return None
    mean = sum(v * w for v, w in zip(values, weights, strict=True)) / total
    spread = statistics.pstdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    half = max(_Z_90 * spread, NOISE_FLOOR * mean)
    return Interval(mean, max(mean * 0.2, mean - half), mean + half)


def _spread(values: Sequence[float]) -> float:
    if len(values) < 4:
        return statistics.pstdev(values) if len(values) > 1 else 0.0
    quartiles = statistics.quantiles(values, n=4)
    return (quartiles[2] - quartiles[0]) / _IQR_TO_SIGMA


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which a share of all values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
