"""Of several findings with one cause, the one that explains most."""

from __future__ import annotations

from fitdoctor.findings.finding import Finding

# Explanations of why a batch takes long to load, of which one is right.
WHY_LOADING_IS_SLOW = frozenset(
    {"IN001", "IN002", "IN003", "IN005", "IN008", "IN010", "IN011", "IN012", "IN013"}
)
# A finding that says no more where one of the others is there.
EXPLAINED_BY: dict[str, frozenset[str]] = {
    # A layer that is slow, emulated or fed with padding dominates for that reason.
    "MO008": frozenset({"MO002", "MO003", "MO004", "MO005", "MO007", "CO003", "CO004"}),
    # Steps started together print together.
    "CB005": frozenset({"HO002", "HO004"}),
    # Recompiling makes some steps slower than others.
    "EN004": frozenset({"CO001", "CO002"}),
    # Too few cores make every kind of step slower; other backends have other costs.
    "MO003": frozenset({"EN002"}),
    # Tracing that recurs is not one long start.
    "CO003": frozenset({"CO001", "CO002"}),
    # Validation that has to skip what training uses takes long for that reason.
    "CB002": frozenset({"IN007"}),
    # Processes that start and end with every epoch are what lies between epochs.
    "HO003": frozenset({"IN008"}),
    # On the device that suits it, a step has another price altogether; a recurrence in one kernel
    # has few operations to start.
    "HO002": frozenset({"EN003", "MO001"}),
}


def one_cause_each(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Of two findings with the same cause, keep the one that explains more.

    Two explanations of the same waiting are one cause seen twice. Eager execution and
    retracing explain tiny steps; and where a batch callback is the trouble, starting
    several steps at once would only call it less often, which is that finding's cure.
    """
    kept: list[Finding] = []
    rules = {finding.rule for finding in findings}
    for finding in findings:
        if finding.rule == "EN006" and len(rules) > 1:
            continue  # a last resort
        if any(finding.rule == hidden and by & rules for hidden, by in EXPLAINED_BY.items()):
            continue
        if finding.rule in WHY_LOADING_IS_SLOW and any(k.rule in WHY_LOADING_IS_SLOW for k in kept):
            continue
        if finding.rule == "EN004" and finding.evidence.get("in_callbacks") and "CB001" in rules:
            continue  # what grows is the callback's work
        if finding.rule == "CB001" and _is_the_writer(finding, findings):
            continue
        if finding.rule == "HO002" and any(k.rule in ("HO004", "CO001", "CB001") for k in kept):
            continue
        kept.append(finding)
    return tuple(kept)


def _is_the_writer(finding: Finding, findings: tuple[Finding, ...]) -> bool:
    """A callback that writes files after every batch is CB003's, which knows its options."""
    name = finding.evidence.get("callback")
    return any(f.rule == "CB003" and f.evidence.get("callback") == name for f in findings)
