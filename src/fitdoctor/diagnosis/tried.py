"""What a cure gained when it ran takes the place of what it was estimated to gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain as gain_of

# An edit that gains less in a fresh process is no cure here.
HELPS = 1.05


def with_trials(view: View, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those whose cure ran with the gain that was seen."""
    return [_with_trial(view, one) for one in findings]


def _with_trial(view: View, finding: Finding) -> Finding:
    trial = view.found(CureTrial, finding.rule)
    if trial is None or finding.scope == "run":
        return finding
    others = [one for one in (finding.partly, *finding.also) if one is not None]
    kept = {id(one): tried for one in others if (tried := _tried(view, one, trial)).cure.edits}
    # What did not help is no longer offered beside the rewrite.
    return replace(
        _tried(view, finding, trial),
        partly=kept.get(id(finding.partly)),
        also=tuple(
            kept.get(id(one), one) for one in finding.also if id(one) in kept or not one.cure.edits
        ),
    )


def _tried(view: View, finding: Finding, trial: CureTrial) -> Finding:
    if not finding.cure.edits or finding.cure.fingerprint != trial.edits:
        return finding
    # How far one trial may be off, the scored trials say: the interval is theirs (calibration).
    gain = Interval.exact(trial.before_ns / trial.after_ns)
    if gain.value < HELPS:
        return _cause_without_cure(view, finding)
    saves = _scaled(finding, gain)
    return replace(finding, gain=gain, how="tried", script_ran=True, saves=saves)


def _cause_without_cure(view: View, finding: Finding) -> Finding:
    """The edit did not help here. What it was for still takes the time that was measured.

    Of what lies beside the step all could go, of the step itself what the cure was to take.
    """
    summary = f"do less work at this line (tried here without gain: {finding.cure.summary})"
    most = {
        part: max(saved.value, 0.0 if part == "step" else view.costs.parts.get(part, 0.0))
        for part, saved in finding.saves.items()
    }
    saved = sum(most.values())
    return replace(
        finding,
        cure=Cure("advice", summary),
        gain=gain_of(view.costs.total, Interval(saved, 0.0, saved)),
        how="bound",
        saves={part: Interval(ns, 0.0, ns) for part, ns in most.items()},
    )


def _scaled(finding: Finding, gain: Interval) -> dict[str, Interval]:
    """The savings of each part, more or less of them as the whole was seen to save."""
    modelled, seen = _saved_share(finding.gain), _saved_share(gain)
    factor = seen / modelled if modelled > 0 else 0.0
    return {part: saved.scaled(factor) for part, saved in finding.saves.items()}


def _saved_share(gain: Interval) -> float:
    """Of the time, what is saved."""
    return max(0.0, 1.0 - 1.0 / gain.value)
