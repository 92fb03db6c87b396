"""One finding: a cause of slowness with its place, its evidence and its gain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from fitdoctor.findings.edits import Edit, ReadPacked
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval

__all__ = ["Cure", "Finding", "Safety", "Where"]

Safety = Literal["safe", "unsafe", "advice"]


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

    @property
    def as_edited(self) -> Finding:
        """The finding whose cure changes the source, where one does."""
        return self.partly if self.partly is not None and not self.cure.edits else self

    def to_json(self) -> dict[str, Any]:
        partly: dict[str, Any] = {}
        if self.partly is not None:
            partly["partly"] = {"gain": self.partly.gain.to_json(), **self.partly.cure.to_json()}
        return {
            "rule": self.rule,
            "name": self.name,
            "where": self.where.to_json() if self.where else None,
            "message": self.message,
            "evidence": self.evidence,
            "gain": self.gain.to_json(),
            "cure": self.cure.to_json() | partly,
        }
