"""`evaluate` between the steps of a hand-written loop: part of what an iteration costs.

Called for many batches at a time it is no workload of its own: the loop waits for it.
"""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.costs import Costs
from fitdoctor.analysis.group_costs import is_group
from fitdoctor.analysis.loop_parts import OWN_CODE
from fitdoctor.contract.records import CallRow, RecordedWorkload, Recording
from fitdoctor.intervals import Interval

PART = "validation"
# Once may be the end of the training.
FEWEST = 2
# Where a loop's iterations hold the calls already, they were counted in one of these.
COUNTED_IN = (OWN_CODE, "step", "input_wait", "unknown")


def is_loop(workload: RecordedWorkload) -> bool:
    """Whether the user's own code goes from step to step."""
    return workload.kind == "loop" or workload.kind.endswith("_on_batch")


def validations_of(
    recording: Recording, workload: RecordedWorkload
) -> tuple[RecordedWorkload, ...]:
    """The lines of `evaluate` that a loop comes to again and again."""
    if not is_loop(workload):
        return ()
    return tuple(
        other
        for other in recording.workloads
        if other.kind == "evaluate"
        and other.parent == workload.parent
        and not is_group(other)
        and len(_between(workload, other)) >= FEWEST
    )


def with_validation(
    costs: Costs, workload: RecordedWorkload, validations: tuple[RecordedWorkload, ...]
) -> Costs:
    """The costs of an iteration with its share of these calls as a part."""
    spent = sum(call.dur for other in validations for call in _between(workload, other))
    each = spent / max(1, costs.steps)
    if not each:
        return costs
    if workload.kind != "loop":  # the time of other lines was left out
        total = costs.total + Interval.exact(each)
        return replace(costs, total=total, parts={**costs.parts, PART: each})
    parts, left = dict(costs.parts), min(each, costs.total.value)
    moved = 0.0
    for name in COUNTED_IN:
        taken = min(left - moved, parts.get(name, 0.0))
        if taken > 0:
            parts[name] -= taken
            moved += taken
    return replace(costs, parts={**parts, PART: moved})


def _between(workload: RecordedWorkload, other: RecordedWorkload) -> list[CallRow]:
    """The calls of a line from the first to the last step of another."""
    begins = [call.t for call in workload.calls] or [t for one in workload.blocks for t in one.t]
    if not begins:
        return []
    return [call for call in other.calls if min(begins) < call.t < max(begins)]
