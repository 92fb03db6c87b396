"""From the start of the process to the end of its first step, and what of it was compiling."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.rows import COMPILING
from fitdoctor.analysis.start_up import process_start_ns
from fitdoctor.contract.records import RecordedWorkload, Recording


@dataclass(frozen=True)
class Beginning:
    """Nanoseconds before the second step."""

    ns: float
    compile_ns: float


def beginning_of(recording: Recording, workload: RecordedWorkload) -> Beginning | None:
    """None where the start of the process was not seen, or the script trains elsewhere too."""
    begin = process_start_ns(recording)
    ends = [block.t[0] + block.step[0] for block in workload.blocks if block.t]
    alone = sum(one.parent is None for one in recording.workloads) == 1
    if begin is None or not ends or not alone or min(ends) <= begin:
        return None
    end = min(ends)
    events = [*recording.events, *workload.events]
    compiled = sum(one.dur for one in events if one.name in COMPILING and begin <= one.t <= end)
    return Beginning(float(end - begin), float(compiled))
