"""The script itself, run again in fresh processes with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import FreshRun
from fitdoctor.intervals import Interval
from fitdoctor.pricing.fresh_trial import saved_by_trial
from fitdoctor.pricing.worth import WORTH_GAIN


@dataclass(frozen=True)
class FasterRun:
    """A run that was faster with the change; nanoseconds per step."""

    as_is: float
    changed: float
    saved: Interval

    @property
    def saves(self) -> dict[str, Interval]:
        """What a finding says it saves."""
        return {"step": self.saved}


def faster_run(view: View, forced: str, worth: float = WORTH_GAIN) -> FasterRun | None:
    """The run with this setting forced; None where it was not tried or gained less than `worth`."""
    trial = view.found(FreshRun, forced)
    saved = saved_by_trial(view.costs.total, trial, worth)
    if trial is None or saved is None:
        return None
    return FasterRun(min(trial.as_is), min(trial.changed), saved)
