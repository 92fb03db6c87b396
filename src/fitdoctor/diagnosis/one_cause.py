"""Of several findings with one cause, the one that explains most."""

from __future__ import annotations

from collections.abc import Sequence

from fitdoctor.findings.finding import Finding
from fitdoctor.rules.rule import Rule


def one_cause_each(findings: Sequence[Finding], rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """Of two findings with the same cause, keep the one that explains more.

    What explains what is declared on the rules; the findings come with the largest gain first.
    """
    by_code = {rule.code: rule for rule in rules}
    kept: list[Finding] = []
    for finding in findings:
        rule = by_code[finding.rule]
        others = [other for other in findings if other is not finding]
        if rule.is_last_resort and others:
            continue
        if rule.is_explained(finding, others, kept):
            continue
        rivals = {by_code[one.rule].rivals_over for one in kept} - {""}
        if rule.rivals_over in rivals:
            continue
        kept.append(finding)
    return tuple(kept)
