"""Loops in turn, or one inside another: the time of one is no code around the other's step.

A GAN trains its critic five times in an inner loop, then its generator: between two updates of the
generator lie five of the critic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fitdoctor.analysis.costs import Costs
from fitdoctor.analysis.loop_parts import OWN_CODE
from fitdoctor.analysis.rows import rows_of
from fitdoctor.contract.records import RecordedWorkload

PART = "loop_inside"


def with_loops_inside(
    costs: Costs, workload: RecordedWorkload, others: Iterable[RecordedWorkload]
) -> Costs:
    """The costs of an iteration, with what other loops did meanwhile as a part."""
    begins = [t for block in workload.blocks for t in block.t]
    own = costs.parts.get(OWN_CODE, 0.0)
    if workload.kind != "loop" or len(begins) < 2 or not own:
        return costs
    since, until = min(begins), max(begins)
    spent = sum(
        row.taken
        for other in others
        if other.kind == "loop" and other.number != workload.number
        for row in rows_of(other)
        if since < row.t < until
    )
    inside = min(own, spent / max(1, costs.steps))
    if not inside:
        return costs
    return replace(costs, parts={**costs.parts, OWN_CODE: own - inside, PART: inside})
