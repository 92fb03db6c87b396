"""The result of one case, and of all of them together."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from casebook.case import Case
from casebook.gain import Gain
from casebook.judge import Judgement, relative_error


@dataclass(frozen=True)
class Outcome:
    """A case, its judgement, the real gain if it was measured, and the seconds to the verdict."""

    case: Case
    judgement: Judgement
    real: Gain | None
    verdict_s: float
    skipped: str = ""  # why this case was not run here

    @property
    def gain_error(self) -> float | None:
        """Relative error of the predicted gain; None where one of the two is missing.

        A gain predicted for another cause than the expected one is not an error of prediction.
        """
        found, predicted = self.judgement.found, self.judgement.predicted
        if self.real is None or predicted is None or found[0] != self.case.expect:
            return None
        return relative_error(predicted.ratio, self.real.ratio)


def count_right(outcomes: Sequence[Outcome]) -> int:
    """How many cases were judged right."""
    return sum(outcome.judgement.is_right and not outcome.skipped for outcome in outcomes)


def count_run(outcomes: Sequence[Outcome]) -> int:
    """How many cases could be run on this machine."""
    return sum(not outcome.skipped for outcome in outcomes)


def median_error(outcomes: Sequence[Outcome]) -> float | None:
    """Median of the absolute relative errors; None where no gain could be compared."""
    errors = [abs(outcome.gain_error) for outcome in outcomes if outcome.gain_error is not None]
    return statistics.median(errors) if errors else None


def to_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything, for other programs."""
    return {
        "schema": 1,
        "cases": [_case_to_json(outcome) for outcome in outcomes],
        "right": count_right(outcomes),
        "total": count_run(outcomes),
        "skipped": len(outcomes) - count_run(outcomes),
        "median_relative_error": median_error(outcomes),
    }


def _case_to_json(outcome: Outcome) -> dict[str, Any]:
    judgement = outcome.judgement
    return {
        "id": outcome.case.id,
        "backend": outcome.case.backend,
        "expect": outcome.case.expect,
        "found": list(judgement.found),
        "predicted": asdict(judgement.predicted) if judgement.predicted else None,
        "real": asdict(outcome.real) if outcome.real else None,
        "relative_error": outcome.gain_error,
        "verdict_s": outcome.verdict_s,
        "right": judgement.is_right and not outcome.skipped,
        "skipped": outcome.skipped or None,
        "reasons": list(judgement.reasons),
    }
