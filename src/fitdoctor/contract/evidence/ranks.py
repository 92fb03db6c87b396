"""The processes of one launch beside each other."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.results import result


@dataclass(frozen=True)
class RankTime:
    """One process: means per step, in nanoseconds."""

    rank: int
    steps: int
    before_ns: float  # from the end of a step to the begin of the next: data, callbacks, own code
    wait_ns: float | None  # for data
    callbacks_ns: float
    step_ns: float  # in the step, which waits for the slowest rank


@result("ranks")
@dataclass(frozen=True)
class RankTimes:
    """All processes, and how much later the slowest one comes to its step than the next one."""

    ranks: tuple[RankTime, ...]
    slowest: int
    steps: int  # that were compared
    late_ns: float
    late_low_ns: float
    late_high_ns: float
    # How much longer the fastest rank is in its step than the slowest: it waits there.
    sync_ns: float
