"""The processes of one launch as a table."""

from __future__ import annotations

from fitdoctor.contract.evidence.ranks import RankTime, RankTimes
from fitdoctor.units import duration

HEAD = f"    {'rank':>4}  {'before the step':>16}  {'waiting for data':>17}  {'in the step':>12}"


def ranks_text(found: RankTimes, world: int | None) -> str:
    """The sentence and the table."""
    missing = 0 if world is None else world - len(found.ranks)
    unseen = f"; {missing} have no recording" if missing > 0 else ""
    lines = [
        f"fitdoctor · {len(found.ranks)} ranks, {found.steps} steps that all of them did{unseen}",
        "",
        f"  {_sentence(found)}",
        "",
        HEAD,
        *(_row(one) for one in found.ranks),
        "",
        "  Inside their step, early ranks wait for the late one.",
        f"  Rank {found.slowest} alone:",
        "",
    ]
    return "\n".join(lines) + "\n"


def _sentence(found: RankTimes) -> str:
    if found.late_low_ns <= 0:
        return "No rank is certain to come last to its steps: they are even."
    interval = f"{duration(found.late_low_ns)}–{duration(found.late_high_ns)}"
    return (
        f"Rank {found.slowest} comes last to its steps, {duration(found.late_ns)} per step after "
        f"the next one ({interval})."
    )


def _row(one: RankTime) -> str:
    wait = "not measured" if one.wait_ns is None else duration(one.wait_ns)
    return (
        f"    {one.rank:>4}  {duration(one.before_ns):>16}  {wait:>17}  {duration(one.step_ns):>12}"
    )
