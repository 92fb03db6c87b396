"""What runs in fresh processes say: the script as it is and with one thing changed, in turns."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.intervals import Interval
from fitdoctor.pricing.worth import WORTH_GAIN

# The spread of one pair is not known; processes of one script differ by about this much.
ONE_PAIR = 1.15


@dataclass(frozen=True)
class FasterRun:
    """A run that was faster with the change; nanoseconds per step."""

    as_is: float
    changed: float
    saves: dict[str, Interval]


def faster_run(view: View, forced: str, worth: float = WORTH_GAIN) -> FasterRun | None:
    """The run with this setting forced.

    None where it was not tried, where the mean ratio is below `worth`, or where one of the
    pairs of runs says the opposite.
    """
    trial, total = view.found(FreshRun, forced), view.costs.total.value
    if trial is None:
        return None
    ratios = [a / max(1.0, b) for a, b in zip(trial.as_is, trial.changed, strict=False)]
    mean = sum(ratios) / max(1, len(ratios))
    if not ratios or mean < worth or min(ratios) <= 1.0:
        return None
    spread = ONE_PAIR if len(ratios) == 1 else 1.0
    saved = Interval(
        total * (1 - 1 / mean),
        total * (1 - spread / min(ratios)),
        total * (1 - 1 / (spread * max(ratios))),
    )
    return FasterRun(min(trial.as_is), min(trial.changed), {"step": saved})
