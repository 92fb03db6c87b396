"""Findings that rest on the script itself, run again in fresh processes with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.fresh_trial import saved_by_trial
from fitdoctor.pricing.joint import gain
from fitdoctor.rules.rule import Rule

# Runs of one script differ by a few per cent.
WORTH_GAIN = 1.10


@dataclass(frozen=True)
class FreshRuns:
    """A trial that was faster with the change: the step as it is and changed, in nanoseconds."""

    as_is: float
    changed: float
    saved: Interval

    def finding(self, rule: Rule, view: View, message: str, cure: Cure, **evidence: Any) -> Finding:
        """The finding that the trial is the proof of."""
        return Finding(
            rule=rule.code,
            name=rule.name,
            where=place_of(view.recorded),
            message=message,
            gain=gain(view.costs.total, self.saved),
            cure=cure,
            evidence=evidence,
            saves={"step": self.saved},
        )


def fresh_runs(view: View, probe: str) -> FreshRuns | None:
    """The trial of that name; None where it was not made, or showed nothing."""
    trial = view.result(probe)
    saved = saved_by_trial(view.costs.total, trial, WORTH_GAIN)
    if not trial or saved is None:
        return None
    return FreshRuns(min(trial["as_is"]), min(trial["changed"]), saved)
