"""Which findings are listed, in which order, and what the workload's verdict is."""

from __future__ import annotations

from collections.abc import Sequence

from fitdoctor.findings.diagnosed import Verdict
from fitdoctor.findings.finding import Finding

LISTED_FROM_GAIN = 1.05  # a finding worth less is not listed
LISTED_FROM_LOW = 1.01  # nor one whose gain may well be nothing

FAMILIES: dict[str, Verdict] = {
    "IN": "input-bound",
    "HO": "host-bound",
    "CO": "compile-bound",
    "CB": "callback-bound",
    "MO": "compute-bound",
    "EN": "device-mismatch",
}


def ranked(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings worth listing, the largest gain first; a bound counts for less than it says."""
    listed = [finding for finding in findings if _is_listed(finding)]
    return tuple(sorted(listed, key=lambda finding: -finding.likely_gain))


def _is_listed(finding: Finding) -> bool:
    if finding.gain.value < LISTED_FROM_GAIN:
        return False
    # A bound begins at nothing by its nature.
    return finding.how == "bound" or finding.gain.low >= LISTED_FROM_LOW


def family_of(finding: Finding) -> Verdict:
    """The verdict that a finding leads to."""
    return FAMILIES[finding.rule[:2]]
