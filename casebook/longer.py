"""A gain that misses is measured longer: noise goes down with more runs, a wrong price does not."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from casebook.gain import Gain
from casebook.judge import Judgement, Predicted

# Diagnoses in all, of a case whose first one missed its gain.
DIAGNOSES = 3


def pooled(first: Gain, again: Gain) -> Gain:
    """Both measurements as one, each weighted by its rounds.

    Example:
        >>> pooled(Gain(2.0, 1.9, 2.1, 1), Gain(4.0, 3.9, 4.1, 1)).ratio
        2.8284271247461903
    """
    rounds = first.rounds + again.rounds
    logs = first.rounds * math.log(first.ratio) + again.rounds * math.log(again.ratio)
    return Gain(
        math.exp(logs / rounds), min(first.low, again.low), max(first.high, again.high), rounds
    )


def middle(judgements: Sequence[Judgement]) -> Predicted | None:
    """The median of what several diagnoses predicted; None where one of them made no claim."""
    claims = [one.predicted for one in judgements if one.predicted is not None]
    if len(claims) < len(judgements):
        return None
    return Predicted(
        statistics.median(claim.ratio for claim in claims),
        statistics.median(claim.low for claim in claims),
        statistics.median(claim.high for claim in claims),
    )
