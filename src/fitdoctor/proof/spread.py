"""What the spread of the pairs says: how many more would decide, and which lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from fitdoctor.proof.ratio import CONFIDENCE, LEAST_PAIRS

# More pairs than this are nothing to wait for.
MOST_PAIRS = 200
# Of the usual spread, a pair that is so much further from the middle lies apart (the modified
# z-score of Iglewicz and Hoaglin); from fewer pairs there is no usual spread.
APART = 3.5
NORMAL_MAD = 0.6745
LEAST_TO_COMPARE = 5


def more_pairs(ratios: Sequence[float], least_gain: float) -> int | None:
    """How many further pairs like these would show a change; None where it is too small to show.

    Args:
        ratios: before over after, pair by pair.
        least_gain: what a gain has to exceed to be claimed.

    Example:
        >>> more_pairs([1.3, 1.0, 1.25, 0.98], 1.01)
        6
    """
    from scipy import stats

    if len(ratios) < LEAST_PAIRS:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    middle, spread = statistics.fmean(logs), statistics.stdev(logs)
    # Slower is claimed from 1 on, faster from the least gain on.
    distance = middle - math.log(least_gain) if middle > 0 else -middle
    if distance <= 0:
        return None
    for count in range(len(ratios) + 1, MOST_PAIRS + 1):
        reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1))
        if reach * spread / math.sqrt(count) < distance:
            return count - len(ratios)
    return None


def pairs_apart(ratios: Sequence[float]) -> list[float]:
    """The ratios of pairs that lie far from the others.

    Example:
        >>> pairs_apart([2.0, 2.01, 1.99, 2.02, 5.0])
        [5.0]
    """
    if len(ratios) < LEAST_TO_COMPARE:
        return []
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.median(logs)
    usual = statistics.median(abs(one - middle) for one in logs)
    if usual == 0.0:
        return [ratio for ratio, one in zip(ratios, logs, strict=True) if one != middle]
    far = APART * usual / NORMAL_MAD
    return [ratio for ratio, one in zip(ratios, logs, strict=True) if abs(one - middle) > far]
