"""Intervals from what was predicted and then proven: `calibration.json`, by rule and kind of gain.

`python -m benchmarks.calibration` makes the table from `benchmarks/results/`. A rule with too few
scored cases gets the width of all rules together, and its finding says so.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from fitdoctor.findings.finding import Finding, Scored
from fitdoctor.intervals import Interval
from fitdoctor.pricing.scores import SCRIPT, widened

FILE = "calibration.json"
# The gain of cures of several rules together is scored under this name.
SEVERAL = "several"


@dataclass(frozen=True)
class Width:
    """How wide an interval has to be, and how many scored cases of the rule say so."""

    half: float
    kind: str  # of the cases that it is from: their scores have one unit
    cases: int
    of_rule: bool  # from the cases of the rule; otherwise from those of all rules

    def around(self, gain: Interval) -> Interval:
        """The gain with an interval of that width, or its own where that is wider."""
        return widened(gain, self.half, self.kind)


@dataclass(frozen=True)
class Group:
    """Scored cases of one rule ("" for all) and kind of gain ("" for all but scripts that ran)."""

    cases: int
    half_width: float | None  # None: too few


Table = Mapping[tuple[str, str], Group]


def width_of(rule: str, how: str, table: Table | None = None) -> Width:
    """The width of the intervals of a rule's gains.

    Args:
        rule: its code.
        how: `tried`, `modelled`, or `script` where the changed script itself ran.
        table: instead of the one in the package.
    """
    known = _shipped() if table is None else table
    nothing = Group(0, None)
    kinds = (how,) if how == SCRIPT else (how, "")
    for kind in kinds:
        own = known.get((rule, kind), nothing)
        if own.half_width is not None:
            return Width(own.half_width, kind, own.cases, of_rule=True)
    cases = known.get((rule, kinds[-1]), nothing).cases
    for kind in (*kinds, ""):
        pooled = known.get(("", kind), nothing)
        if pooled.half_width is not None:
            return Width(pooled.half_width, kind, cases, of_rule=False)
    raise ValueError("the calibration table has no width for all rules together")


def joint_width(findings: Sequence[Finding]) -> Width:
    """Of the gain of several cures together: of the rule where it is one, else of all rules."""
    kinds = {(one.rule, one.kind) for one in findings}
    return width_of(*kinds.pop()) if len(kinds) == 1 else width_of(SEVERAL, "modelled")


def calibrated(finding: Finding) -> Finding:
    """The finding with intervals that the scored cases ask for, for each of its cures.

    A bound is what it is, however right the predictions are.
    """
    partly = None if finding.partly is None else calibrated(finding.partly)
    also = tuple(calibrated(one) for one in finding.also)
    if finding.how == "bound":
        return replace(finding, partly=partly, also=also)
    width = width_of(finding.rule, finding.kind)
    scored = Scored(width.cases, of_rule=width.of_rule)
    return replace(
        finding, gain=width.around(finding.gain), partly=partly, also=also, scored=scored
    )


@functools.cache
def _shipped() -> Table:
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return {
        (group["rule"], group["how"]): Group(group["cases"], group["half_width"])
        for group in json.loads(text)["groups"]
    }
