"""Where the steady state begins: found from the data, not by skipping a fixed number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

BATCH = 5  # MSER-5: the rule works on means of five
_LIMIT_SHARE = 0.5  # warm-up is never found beyond the first half


def warm_up_length(durations: Sequence[float]) -> int:
    """How many leading values to drop, by the marginal standard error rule (White, 1997).

    The truncation point minimises the squared standard error of the mean of what
    remains. Durations are taken as logarithms and clipped, so that one stall late in
    the run cannot make everything before it look like warm-up.

    Example:
        >>> warm_up_length([900.0, 300.0] + [100.0, 101.0] * 20)
        5
    """
    if len(durations) < 4 * BATCH:
        return _short_warm_up(durations)
    logs = _clipped([math.log(max(1e-9, d)) for d in durations])
    means = [statistics.fmean(logs[i : i + BATCH]) for i in range(0, len(logs) - BATCH + 1, BATCH)]
    best, best_error = 0, math.inf
    for cut, error in enumerate(_squared_errors(means)):
        if cut <= int(len(means) * _LIMIT_SHARE) and error < best_error * (1 - 1e-9):
            best, best_error = cut, error
    return best * BATCH


def _squared_errors(means: list[float]) -> list[float]:
    """Squared standard error of the mean of what remains after each cut, in one pass.

    Sums run from the end; values are taken around their median, which keeps the difference
    of two sums exact enough.
    """
    centre = statistics.median(means)
    errors, count, total, squares = [], 0, 0.0, 0.0
    for mean in reversed(means):
        value = mean - centre
        count, total, squares = count + 1, total + value, squares + value * value
        variance = max(0.0, squares / count - (total / count) ** 2)
        errors.append(variance / count)
    return errors[::-1]


def _short_warm_up(durations: Sequence[float]) -> int:
    """With few values, drop only a first one that stands out."""
    if len(durations) < 3:
        return 0
    rest = statistics.median(durations[1:])
    return 1 if durations[0] > 2 * rest else 0


def _clipped(values: list[float]) -> list[float]:
    middle = statistics.median(values)
    deviation = statistics.median(abs(v - middle) for v in values) or 1e-9
    reach = 10 * deviation
    half = len(values) // 2
    # Only the second half is clipped: what is far off in the first half may be warm-up.
    return values[:half] + [min(max(v, middle - reach), middle + reach) for v in values[half:]]
