"""A finding's gain, and how it is known."""

from __future__ import annotations

from fitdoctor.findings.finding import Finding
from fitdoctor.units import factor, gain

# A run that gains less than this part of what a step gains is worth a line of its own.
MUCH_LESS = 0.8


def how_words(finding: Finding) -> str:
    """How the gain is known; of a bound its size says enough."""
    return {"tried": "tried here", "modelled": "estimated", "bound": ""}[finding.how]


def gain_size(finding: Finding) -> str:
    """As in `2.4× (1.9–2.6)`, or `at most 3.9×`."""
    if finding.how == "bound":
        return f"at most {factor(finding.gain.high)}×"
    return gain(finding.gain)


def gain_words(finding: Finding) -> str:
    """Both, as in `2.4× (1.9–2.6), estimated`."""
    return ", ".join(filter(None, (gain_size(finding), how_words(finding))))


def run_words(finding: Finding) -> str:
    """What the whole run gains, where that is much less than what a step gains."""
    run = finding.run_gain
    if run is None or run.value >= MUCH_LESS * finding.gain.value:
        return ""
    return f"whole run as planned: {gain(run)}"


def scored_words(finding: Finding) -> str:
    """What the interval rests on."""
    scored = finding.scored
    if scored is None:
        return ""
    cases = f"{scored.cases} scored case{'' if scored.cases == 1 else 's'} of {finding.rule}"
    if scored.of_rule:
        return f"90 % interval from {cases}"
    return f"wide 90 % interval, from the cases of all rules: only {cases}"
