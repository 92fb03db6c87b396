"""What runs in fresh processes say: the script as it is and changed, in turns."""

from __future__ import annotations

from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.intervals import Interval

ONE_PAIR = 1.15


def saved_by_trial(total: Interval, trial: FreshRun | None, worth: float) -> Interval | None:
    """Nanoseconds per step that the change saves.

    None where nothing was tried, where the mean ratio is below `worth`, or where one of the
    pairs of runs says the opposite.
    """
    if trial is None or not trial.as_is:
        return None
    ratios = [a / max(1.0, b) for a, b in zip(trial.as_is, trial.changed, strict=False)]
    if not ratios:
        return None
    mean = sum(ratios) / len(ratios)
    if mean < worth or min(ratios) <= 1.0:
        return None
    # The spread of one pair is not known; processes of one script differ by about this much.
    spread = ONE_PAIR if len(ratios) == 1 else 1.0
    return Interval(
        total.value * (1 - 1 / mean),
        total.value * (1 - spread / min(ratios)),
        total.value * (1 - 1 / (spread * max(ratios))),
    )
