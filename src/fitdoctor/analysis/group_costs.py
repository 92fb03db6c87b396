"""Costs of repeated short calls from one line: the unit is the call, not the step."""

from __future__ import annotations

import itertools
import statistics

from fitdoctor.analysis.costs import Costs, parts_that_sum
from fitdoctor.analysis.estimate import from_means, quantile
from fitdoctor.recording.schema import CallRow, RecordedWorkload

MIN_CALLS = 8
MAX_STEPS_PER_CALL = 4


def is_group(workload: RecordedWorkload) -> bool:
    """Many calls of a few steps each: what each call costs beside its steps is what counts."""
    calls = workload.calls
    if workload.kind.endswith("_on_batch"):
        return len(calls) >= 2
    if len(calls) < MIN_CALLS:
        return False
    return sum(call.steps for call in calls) <= MAX_STEPS_PER_CALL * len(calls)


def group_costs(workload: RecordedWorkload) -> Costs | None:
    """Costs per call, from one call's begin to the next one's."""
    pairs = _consecutive(workload)
    if len(pairs) < 2:
        return None
    periods = [float(after.t - call.t) for call, after in pairs]
    calls = [call for call, _ in pairs]
    size = max(1, len(periods) // 20)
    means = [
        statistics.fmean(periods[i : i + size]) for i in range(0, len(periods) - size + 1, size)
    ]
    total = from_means(means, [1.0] * len(means))
    if total is None:
        return None
    return Costs(
        steps=sum(max(1, call.steps) for call in workload.calls),
        steady_steps=len(pairs),
        calls=len(workload.calls),
        core=total,
        total=total,
        parts=parts_that_sum(total.value, _parts(workload, calls, periods)),
        median_ns=statistics.median(periods),
        p10_ns=quantile(periods, 0.1),
        p90_ns=quantile(periods, 0.9),
        one_off_ns=float(workload.calls[0].dur),
        recurring_compiles=0,
        disturbed_share=0.0,
        unit="call",
    )


def _consecutive(workload: RecordedWorkload) -> list[tuple[CallRow, CallRow]]:
    """Neighbouring calls, without the first (it compiles) and without examined gaps."""
    probes = [(p.t, p.t + p.dur) for p in workload.probes.values() if p.dur]
    calls = workload.calls[1:]
    return [
        (call, after)
        for call, after in itertools.pairwise(calls)
        if not any(begin < after.t and end > call.t for begin, end in probes)
    ]


def _parts(
    workload: RecordedWorkload, calls: list[CallRow], periods: list[float]
) -> dict[str, float]:
    duration = statistics.fmean(call.dur for call in calls)
    # The median: now and then Python collects the garbage that the calls left behind.
    between = statistics.median(
        period - call.dur for period, call in zip(periods, calls, strict=True)
    )
    if workload.kind.endswith("_on_batch"):
        return {"step": duration, "between_calls": between}
    step = statistics.fmean(call.step for call in calls)
    return {"step": step, "start_up": duration - step, "between_calls": between}
