"""Which workload of one side belongs to which of the other, and how their steps differ."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from fitdoctor.comparison.compared_run import Measured, Side
from fitdoctor.intervals import Interval


@dataclass(frozen=True)
class Pair:
    """The same workload before and after; one of them may be missing."""

    before: Measured | None
    after: Measured | None

    @property
    def either(self) -> Measured:
        """The workload, as it is after, if it is there."""
        found = self.after or self.before
        if found is None:
            raise ValueError("a pair needs at least one side")
        return found

    @property
    def ratio(self) -> Interval | None:
        """Step after over step before: above 1 it became slower. None where unknown."""
        before = self.before.step if self.before else None
        after = self.after.step if self.after else None
        if before is None or after is None or before.low <= 0:
            return None
        return after.divided_by(before)


def pairs(before: Side, after: Side) -> list[Pair]:
    """Match by kind and place, then by kind in order: a line moves when a file is edited."""
    left = list(after.workloads)
    matched: dict[int, Measured] = {}
    for key in (attrgetter("kind", "place"), attrgetter("kind")):
        for index, workload in enumerate(before.workloads):
            found = next((other for other in left if key(other) == key(workload)), None)
            if index not in matched and found is not None:
                matched[index] = found
                left.remove(found)
    found_pairs = [Pair(one, matched.get(index)) for index, one in enumerate(before.workloads)]
    return found_pairs + [Pair(None, other) for other in left]
