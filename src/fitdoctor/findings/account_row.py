"""One row of the account: a piece of a step, what it needs at least, and who explains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fitdoctor.findings.place import Where

State = Literal["ceiling", "waste", "unexplained"]


@dataclass(frozen=True)
class AccountRow:
    """One leaf of the account."""

    part: str
    what: str
    ns: float
    where: Where | None
    floor_ns: float | None
    owner: str | None  # the rule that explains it
    state: State

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "part": self.part,
            "where": self.where.to_json() if self.where else None,
            "ns_per_step": round(self.ns),
            "floor_ns": None if self.floor_ns is None else round(self.floor_ns),
            "owner": self.owner,
            "state": self.state,
        }
