"""How far predictions were off, and how wide an interval has to be to hold the next proven gain.

A score is the distance of a predicted and a proven gain as a factor (a logarithm), in units of what
can be wrong: a cure that takes away a tenth of a step can be wrong about that tenth only. A changed
script that ran is another matter: two processes differ by as much whatever the cure saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fitdoctor.intervals import Interval

# Predictions of nearly no gain would be divided by nearly nothing.
LEAST_SHARE = 0.05
# An upper end this many times the value says that no end was seen: the scores give one.
NO_END = 5.0
# From fewer cases the width of 90 % is their single worst one: a rule gets no width of its own.
ENOUGH = 19
# The scores of changed scripts that ran are kept apart under this name.
SCRIPT = "script"


def scale(gain: float, how: str) -> float:
    """What a score is divided by: the share of a step that the cure takes away."""
    return 1.0 if how == SCRIPT else max(LEAST_SHARE, 1.0 - 1.0 / gain)


def score(predicted: float, proven: float, how: str) -> float:
    """How far a prediction was off.

    Example:
        >>> round(score(2.0, 2.0, "modelled"), 2), round(score(2.0, 4.0, "modelled"), 2)
        (0.0, 1.39)
    """
    return abs(math.log(proven / predicted)) / scale(predicted, how)


def half_width(scores: Sequence[float], level: float) -> float | None:
    """The width that holds the next score with this probability, if it is like those before it.

    The k-th smallest of n scores with k = ⌈(n + 1) · level⌉, as split conformal prediction has it;
    None from too few scores: nine are needed for 90 %, and decide it by the worst of them.

    Example:
        >>> half_width([0.1, 0.2, 0.3], 0.5), half_width([0.1, 0.2, 0.3], 0.9)
        (0.2, None)
    """
    rank = math.ceil((len(scores) + 1) * level - 1e-9)
    return sorted(scores)[rank - 1] if 1 <= rank <= len(scores) else None


def widened(gain: Interval, half: float, how: str) -> Interval:
    """The gain with an interval at least that wide; what the probes saw is never made narrower.

    Except for an upper end that is none: `17× (7–1000)` only says that the probes saw no end.

    Example:
        >>> round(widened(Interval(2.0, 1.9, 2.1), 0.4, "modelled").high, 2)
        2.44
        >>> widened(Interval(1.0, 1.0, 1.0), 0.4, "modelled")
        Interval(value=1.0, low=1.0, high=1.0)
    """
    if gain.value <= 1.0 and how != SCRIPT:
        return gain
    factor = math.exp(half * scale(gain.value, how)) if gain.value > 0 else 1.0
    seen = gain.high if gain.high < NO_END * gain.value else gain.value
    return Interval(gain.value, min(gain.low, gain.value / factor), max(seen, gain.value * factor))
