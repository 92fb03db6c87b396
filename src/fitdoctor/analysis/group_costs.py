"""Costs of repeated short calls from one line: the unit is the call, not the step."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from fitdoctor.analysis.costs import Costs, parts_that_sum
from fitdoctor.analysis.estimate import from_means, quantile
from fitdoctor.analysis.loop_parts import OWN_CODE, loop_parts
from fitdoctor.analysis.rows import compile_events
from fitdoctor.analysis.start_up import covered
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract import groups
from fitdoctor.contract.evidence.loop import CallAlternatives
from fitdoctor.contract.records import CallRow, RecordedWorkload

# Keras makes a pipeline for every call on TensorFlow: that is the call's start, no retracing.
PIPELINE = "Dataset_"

Span = tuple[int, int]  # begin, end


def is_group(workload: RecordedWorkload) -> bool:
    """Many calls of a few steps each: what each call costs beside its steps is what counts."""
    steps = sum(call.steps for call in workload.calls)
    return groups.is_group(workload.kind, len(workload.calls), steps)


def group_costs(
    workload: RecordedWorkload,
    *,
    elsewhere: Sequence[Span] = (),
    paused: Sequence[Span] = (),
) -> Costs | None:
    """Costs per call, from one call's begin to the next one's.

    Args:
        workload: the calls of one line.
        elsewhere: calls of other lines, which are judged by themselves: in a loop that predicts
            and trains in turn, neither is what the other costs.
        paused: examinations, of this line and of others.
    """
    pairs = _consecutive(workload, paused)
    if len(pairs) < 2:
        return None
    periods = [
        float(after.t - call.t - _inside(elsewhere, call.t + call.dur, after.t))
        for call, after in pairs
    ]
    calls = [call for call, _ in pairs]
    size = max(1, len(periods) // 20)
    means = [
        statistics.fmean(periods[i : i + size]) for i in range(0, len(periods) - size + 1, size)
    ]
    total = from_means(means, [1.0] * len(means))
    if total is None:
        return None
    parts = _parts(workload, calls, periods)
    return Costs(
        steps=sum(max(1, call.steps) for call in workload.calls),
        steady_steps=len(pairs),
        calls=len(workload.calls),
        core=total,
        total=total,
        parts=parts_that_sum(total.value, parts),
        median_ns=statistics.median(periods),
        p10_ns=quantile(periods, 0.1),
        p90_ns=quantile(periods, 0.9),
        one_off_ns=float(workload.calls[0].dur),
        disturbed_share=0.0,
        unit="call",
        beside={name: parts[name] for name in (OWN_CODE, "compile") if parts.get(name)},
    )


def _consecutive(
    workload: RecordedWorkload, paused: Sequence[Span]
) -> list[tuple[CallRow, CallRow]]:
    """Neighbouring calls, without the first (it compiles) and without examined gaps."""
    return [
        (call, after)
        for call, after in itertools.pairwise(workload.calls[1:])
        if not any(begin < after.t and end > call.t for begin, end in paused)
    ]


def _inside(spans: Sequence[Span], begin: int, end: int) -> int:
    """How much of a stretch of time the spans cover, where some lie inside others."""
    within = ((max(begin, since), min(end, until)) for since, until in spans)
    return covered((since, until) for since, until in within if since < until)


def _parts(
    workload: RecordedWorkload, calls: list[CallRow], periods: list[float]
) -> dict[str, float]:
    duration = statistics.fmean(call.dur for call in calls)
    compiling = statistics.fmean(_compiling(workload, calls))
    # The median: now and then Python collects the garbage that the calls left behind.
    between = statistics.median(
        period - call.dur for period, call in zip(periods, calls, strict=True)
    )
    if workload.kind.endswith("_on_batch"):
        compiling = _with_its_surroundings(workload, calls, compiling)
        step = duration - compiling
        watched = loop_lines(workload)
        if watched is None:
            parts = {"step": step, OWN_CODE: between}
        else:
            whole = statistics.fmean(periods) - compiling
            parts = loop_parts(whole, watched, waited=None, timed=step)
    else:
        step = statistics.fmean(call.step for call in calls)
        in_steps = min(compiling, step)
        parts = {
            "step": step - in_steps,
            "start_up": duration - step - (compiling - in_steps),
            OWN_CODE: between,
        }
    return {**parts, "compile": compiling} if compiling else parts


def _compiling(workload: RecordedWorkload, calls: list[CallRow]) -> list[float]:
    """Nanoseconds of each call that went into retracing and recompiling."""
    events = [
        event
        for event in compile_events(workload)
        if not (event.detail.name or "").startswith(PIPELINE)
    ]
    return [
        float(min(call.dur, sum(e.dur for e in events if call.t <= e.t <= call.t + call.dur)))
        for call in calls
    ]


def _with_its_surroundings(
    workload: RecordedWorkload, calls: list[CallRow], compiling: float
) -> float:
    """What a call takes longer than one that compiles nothing, where that was timed.

    A new function is also optimised and given its resources, which no trace tells.
    """
    tried = workload.found(CallAlternatives)
    if not compiling or tried is None or not tried.same.ns:
        return compiling
    plain = float(statistics.median(tried.same.ns))
    return max(compiling, statistics.fmean(call.dur for call in calls) - plain)
