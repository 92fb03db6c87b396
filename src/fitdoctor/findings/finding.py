"""One finding: a cause of slowness with its place, its evidence and its gain."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from fitdoctor.findings.edits import Edit, ReadPacked
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval

__all__ = ["Cure", "Finding", "How", "Safety", "Scope", "Where"]

Safety = Literal["safe", "unsafe", "advice"]
# How a gain is known: the cure itself ran here; from measured parts and a model of how they
# overlap; or only that it can be no more, if what was found cost nothing.
How = Literal["tried", "modelled", "bound"]
# What gets faster by that much: a step in the steady state, or the whole run as planned.
Scope = Literal["step", "run"]
# Of a bound, this part is taken to be within reach when findings are put in order.
WITHIN_REACH = 0.5


@dataclass(frozen=True)
class Scored:
    """What the interval of a gain rests on: predictions of the same rule that were then proven."""

    cases: int
    of_rule: bool  # they are enough; otherwise the interval is that of all rules together


@dataclass(frozen=True)
class Cure:
    """What to change, and whether the training stays the same when it is changed.

    safe: same samples, same order, same arithmetic, same callback calls.
    unsafe: may change numbers, order or callback granularity.
    advice: cannot be an edit of the source.
    """

    safety: Safety
    summary: str
    # All of them together are the cure; none where there is no automatic fix.
    edits: tuple[Edit, ...] = ()
    # A cured step does the work of this many: a larger batch.
    steps_in_one: int = 1

    @property
    def packing(self) -> ReadPacked | None:
        """The edit that stores data on disk, where the cure has one."""
        return next((edit for edit in self.edits if isinstance(edit, ReadPacked)), None)

    @property
    def fingerprint(self) -> str:
        """The same for the same edits: what a trial of them is known by."""
        edits = [edit.to_json() for edit in self.edits]
        text = json.dumps(edits, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        edits = [edit.to_json() for edit in self.edits]
        return {"safety": self.safety, "summary": self.summary, "edits": edits}


@dataclass(frozen=True)
class Finding:
    """A cause of slowness that was measured on this run."""

    rule: str
    name: str
    where: Where | None
    message: str
    gain: Interval
    cure: Cure
    evidence: dict[str, float | int | str | bool | None] = field(default_factory=dict)
    # Nanoseconds per step (a range) that the cure takes away from each part of the
    # step; what the joint gain is computed from, never the product of the gains.
    saves: dict[str, Interval] = field(default_factory=dict)
    # The cure is advice, and this is what an edit can do instead, for less: the same cause with
    # another cure and another gain.
    partly: Finding | None = None
    how: How = "modelled"
    # Other cures of the same cause, each with its own gain, the best first.
    also: tuple[Finding, ...] = ()
    scope: Scope = "step"
    # Of the whole run as planned, start and first epochs included; None where its length is not
    # known, and where `gain` is that already.
    run_gain: Interval | None = None
    # Nothing is wrong: another model, or another training, that would take less time.
    is_option: bool = False
    # It takes no time yet: said beside the findings, and no gain is promised.
    is_warning: bool = False
    # The changed script itself ran, in a fresh process; other trials change one thing in the
    # process that is examined.
    script_ran: bool = False
    scored: Scored | None = None  # None: not calibrated, as a bound

    @property
    def kind(self) -> str:
        """How the gain is known, as scores of earlier predictions are kept."""
        return "script" if self.script_ran else self.how

    @property
    def likely_gain(self) -> float:
        """The gain that findings are compared by: a bound promises less than it says."""
        if self.how != "bound":
            return self.gain.value
        return 1.0 / (1.0 - WITHIN_REACH * (1.0 - 1.0 / self.gain.value))

    @property
    def as_edited(self) -> Finding:
        """The finding whose cure changes the source, where one does."""
        if self.cure.edits:
            return self
        others = [one for one in (self.partly, *self.also) if one is not None and one.cure.edits]
        return max(others, key=lambda one: one.gain.value, default=self)

    def gain_to_json(self) -> dict[str, Any]:
        """The gain, how it is known, of what it is, and what its interval rests on."""
        found: dict[str, Any] = {**self.gain.to_json(), "how": self.how, "of": self.scope}
        if self.how == "tried":
            found["trial"] = "script" if self.script_ran else "process"
        if self.scored is not None:
            found["scored_cases"] = self.scored.cases
            found["interval_from"] = "rule" if self.scored.of_rule else "all rules"
        return found if self.run_gain is None else {**found, "run": self.run_gain.to_json()}

    def to_json(self) -> dict[str, Any]:
        partly: dict[str, Any] = {}
        if self.partly is not None:
            gain = self.partly.gain_to_json()
            partly["partly"] = {"gain": gain, **self.partly.cure.to_json()}
        return {
            "rule": self.rule,
            "name": self.name,
            "where": self.where.to_json() if self.where else None,
            "message": self.message,
            "evidence": self.evidence,
            "gain": self.gain_to_json(),
            "cure": self.cure.to_json() | partly,
            "other_cures": [
                {"gain": one.gain_to_json(), **one.cure.to_json()} for one in self.also
            ],
        }
