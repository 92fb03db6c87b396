"""What a cure gained when it ran takes the place of what it was estimated to gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval


def with_trials(recorded: RecordedWorkload, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those whose cure ran with the gain that was seen."""
    return [_with_trial(recorded, one) for one in findings]


def _with_trial(recorded: RecordedWorkload, finding: Finding) -> Finding:
    trial = recorded.found(CureTrial, finding.rule)
    if trial is None or finding.scope == "run":
        return finding
    tried = _tried(finding, trial)
    partly = None if finding.partly is None else _tried(finding.partly, trial)
    return replace(tried, partly=partly, also=tuple(_tried(one, trial) for one in finding.also))


def _tried(finding: Finding, trial: CureTrial) -> Finding:
    if not finding.cure.edits or finding.cure.fingerprint != trial.edits:
        return finding
    # How far one trial may be off, the scored trials say: the interval is theirs (calibration).
    gain = Interval.exact(trial.before_ns / trial.after_ns)
    saves = _scaled(finding, gain)
    return replace(finding, gain=gain, how="tried", script_ran=True, saves=saves)


def _scaled(finding: Finding, gain: Interval) -> dict[str, Interval]:
    """The savings of each part, more or less of them as the whole was seen to save."""
    modelled, seen = _saved_share(finding.gain), _saved_share(gain)
    factor = seen / modelled if modelled > 0 else 0.0
    return {part: saved.scaled(factor) for part, saved in finding.saves.items()}


def _saved_share(gain: Interval) -> float:
    """Of the time, what is saved."""
    return max(0.0, 1.0 - 1.0 / gain.value)
