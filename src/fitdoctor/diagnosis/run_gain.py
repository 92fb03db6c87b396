"""What a gain per step is worth over the whole run as planned: start and first epochs included.

A cache that is filled in the first of two epochs gives the run less than half of what it gives a
step, and a second saved per step gives a run that is mostly start-up next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.rounds import longest
from fitdoctor.intervals import Interval


@dataclass(frozen=True)
class PlannedRun:
    """How long the script would take as it is, nanoseconds."""

    start_ns: float  # from the start of the process to the end of the first step
    step_ns: float
    steps: int
    epoch_steps: float

    def gain(self, finding: Finding, start_after_ns: float | None = None) -> Interval:
        """The run as it is over the run with the cure."""
        edits = finding.cure.edits
        settling = longest(edit.rounds() for edit in edits).settles * self.epoch_steps
        as_before = min(float(self.steps), settling)
        start = self.start_ns if start_after_ns is None else start_after_ns

        def ratio(gain: float) -> float:
            left = as_before * self.step_ns + (self.steps - as_before) * self.step_ns / gain
            return (self.start_ns + self.steps * self.step_ns) / (start + left)

        return Interval(*map(ratio, (finding.gain.value, finding.gain.low, finding.gain.high)))


def planned_run(view: View) -> PlannedRun | None:
    """None where it is not known how long the script trains, or when it began."""
    beginning, per_epoch = view.beginning, view.steps_per_epoch
    if view.recorded.kind != "fit" or beginning is None:
        return None
    if per_epoch is None or view.passes is None:
        return None
    return PlannedRun(beginning.ns, view.costs.total.value, view.planned_steps, per_epoch)


def with_run_gains(view: View, findings: Sequence[Finding]) -> list[Finding]:
    """The findings with what they are worth for the whole run, where that is known."""
    run = planned_run(view)
    return list(findings) if run is None else [_with_run_gain(run, view, one) for one in findings]


def by_run_gain(findings: Sequence[Finding]) -> list[Finding]:
    """Those first that the run as planned gains most from, where that is known of all.

    A cache that is filled in the first of two epochs then comes after what helps at once.
    """
    if any(one.run_gain is None or one.how == "bound" for one in findings):
        return list(findings)
    return sorted(findings, key=lambda one: -one.run_gain.value if one.run_gain else 0.0)


def _with_run_gain(run: PlannedRun, view: View, finding: Finding) -> Finding:
    if finding.scope == "run":
        return finding
    trial = view.found(CureTrial, finding.rule)

    def of(one: Finding) -> Finding:
        is_tried = trial is not None and one.cure.edits and one.cure.fingerprint == trial.edits
        start = trial.start_after_ns if trial is not None and is_tried else None
        return replace(one, run_gain=run.gain(one, start))

    partly = None if finding.partly is None else of(finding.partly)
    return replace(of(finding), partly=partly, also=tuple(of(one) for one in finding.also))
