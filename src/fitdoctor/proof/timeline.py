"""When each training step of a run began: the one thing that two runs are compared by."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fitdoctor.analysis.rows import compile_events
from fitdoctor.contract.limits import OTHERS_LIMIT_CORES
from fitdoctor.contract.records import CallRow, RecordedWorkload, Recording, StepBlock
from fitdoctor.diagnosis import is_part_of_another


@dataclass(frozen=True)
class Span:
    """Some steps that were done one after another, between two clock readings."""

    begin_ns: int
    end_ns: int
    steps: int


@dataclass(frozen=True, eq=False)
class Timeline:
    """The steps of a run in order, whatever workload they belong to."""

    spans: tuple[Span, ...]
    epoch_steps: int | None  # steps of one complete epoch of the first fit, where they are known
    executions: int  # steps per execution of the step function
    disturbed_share: float  # of the steps, done while other processes used our cores
    steps_in_one: int = 1
    # Begin and end of each trace or compilation: a new shape, met once.
    compiled: tuple[tuple[int, int], ...] = ()

    @property
    def steps(self) -> int:
        """All steps."""
        return self._marks[0][-1]

    @property
    def taken_ns(self) -> float:
        """From the beginning of the first step to the end of the last."""
        return self.time_at(self.steps) - self.time_at(0)

    def counted(self, steps_in_one: int) -> Timeline:
        """The same run where each step does the work of several, as with a larger batch."""
        spans = tuple(replace(span, steps=span.steps * steps_in_one) for span in self.spans)
        epoch = None if self.epoch_steps is None else self.epoch_steps * steps_in_one
        return replace(self, spans=spans, epoch_steps=epoch, steps_in_one=steps_in_one)

    def time_at(self, steps: int) -> float:
        """When this many steps were done and the next one began, in nanoseconds."""
        marks, times = self._marks
        if not 0 <= steps <= marks[-1]:
            raise ValueError(f"the run has {marks[-1]} steps, asked was for step {steps}")
        after = min(bisect_right(marks, steps), len(marks) - 1)
        before = after - 1
        share = (steps - marks[before]) / (marks[after] - marks[before])
        return times[before] + share * (times[after] - times[before])

    def compiling_ns(self, first: int, last: int) -> float:
        """How much of the time from one step to another went into tracing and compiling."""
        begin, end = self.time_at(first), self.time_at(last)
        within = (min(until, end) - max(since, begin) for since, until in self.compiled)
        return sum(ns for ns in within if ns > 0)

    @cached_property
    def _marks(self) -> tuple[list[int], list[int]]:
        marks, times = [0], [self.spans[0].begin_ns]
        ends = [span.begin_ns for span in self.spans[1:]] + [self.spans[-1].end_ns]
        for span, end in zip(self.spans, ends, strict=True):
            marks.append(marks[-1] + span.steps)
            times.append(end)
        return marks, times


def timeline_of(recording: Recording, epoch_steps: int | None = None) -> Timeline | None:
    """The steps of a recording; None where nothing trained.

    Args:
        recording: one run.
        epoch_steps: steps of one epoch as the other side counts them one by one. With
            `steps_per_execution` the last execution of an epoch is rarely full, and only
            the other side can tell how full it was.
    """
    workloads = [w for w in recording.workloads if not is_part_of_another(recording, w)]
    spans = [span for one in workloads for span in _spans(recording, one, epoch_steps)]
    if not spans:
        return None
    spans = _without_waits(sorted(spans, key=lambda span: span.begin_ns), workloads)
    blocks = [block for workload in workloads for block in workload.blocks]
    compiled = [event for workload in workloads for event in compile_events(workload)]
    return Timeline(
        tuple(spans),
        _epoch_steps(workloads),
        max((block.executions for block in blocks), default=1),
        _disturbed_share(blocks),
        compiled=_merged((event.t, event.t + event.dur) for event in compiled),
    )


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same time, counted once: a compilation may lie within its trace."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return tuple(found)


def _without_waits(spans: list[Span], workloads: Sequence[RecordedWorkload]) -> list[Span]:
    """The clock stands still while TensorFlow waits between epochs, which it does by chance."""
    waits = sorted(
        (event.t + event.dur, event.dur)
        for workload in workloads
        for event in workload.events
        if event.name == "iterator_wait"
    )

    def shifted(t: int) -> int:
        return t - sum(dur for end, dur in waits if end <= t)

    return [Span(shifted(span.begin_ns), shifted(span.end_ns), span.steps) for span in spans]


def _spans(recording: Recording, workload: RecordedWorkload, epoch_steps: int | None) -> list[Span]:
    if workload.kind not in ("fit", "loop"):
        return [Span(call.t, call.t + call.dur, max(1, call.steps)) for call in workload.calls]
    if _runs_ahead(recording) and any(event.name == "sync" for event in workload.events):
        return _synced_spans(workload)
    return _row_spans(workload, epoch_steps)


def _runs_ahead(recording: Recording) -> bool:
    """Whether the host's clock tells when a step was asked for rather than when it was done."""
    return recording.keras.backend == "jax" or bool(recording.machine.accelerators)


def _row_spans(workload: RecordedWorkload, epoch_steps: int | None) -> list[Span]:
    seen: dict[tuple[int, int], int] = defaultdict(int)
    spans: list[Span] = []
    for block in workload.blocks:
        epoch = (block.call, block.epoch)
        for t, step in zip(block.t, block.step, strict=True):
            steps = block.executions
            if epoch_steps is not None and steps > 1:
                steps = min(steps, epoch_steps - seen[epoch])
            seen[epoch] += steps
            if steps > 0:
                spans.append(Span(t, t + step, steps))
    return _with_the_calls_end(spans, workload.calls)


def _with_the_calls_end(spans: list[Span], calls: Sequence[CallRow]) -> list[Span]:
    """The last steps of a call take until it returns: that is when they are surely done."""
    end = max((call.t + call.dur for call in calls), default=0)
    if not spans or end < spans[-1].begin_ns:
        return spans
    return [*spans[:-1], replace(spans[-1], end_ns=max(spans[-1].end_ns, end))]


def _synced_spans(workload: RecordedWorkload) -> list[Span]:
    """Between two moments at which the device was known to be done."""
    first: dict[int, int] = {}
    rows: dict[int, int] = defaultdict(int)
    for block in workload.blocks:
        first.setdefault(block.call, block.t[0])
        rows[block.call] += len(block.t) * block.executions
    spans: list[Span] = []
    ends = {number: call.t + call.dur for number, call in enumerate(workload.calls)}
    for call, begin in first.items():
        done, t = 0, begin
        for event in workload.events:
            if event.name != "sync" or event.call != call or event.step is None:
                continue
            end = event.t + event.dur
            if event.step > done and end > t:
                spans.append(Span(t, end, event.step - done))
                done, t = event.step, end
        if rows[call] > done and ends.get(call, 0) > t:
            spans.append(Span(t, ends[call], rows[call] - done))
    return spans


def _epoch_steps(workloads: Sequence[RecordedWorkload]) -> int | None:
    """Steps of the first epoch of the first fit, if a second one follows."""
    fit = next((workload for workload in workloads if workload.kind == "fit"), None)
    if fit is None:
        return None
    first = [block for block in fit.blocks if (block.call, block.epoch) == (0, 0)]
    if len(first) == len(fit.blocks) or any(block.executions != 1 for block in first):
        return None
    return sum(len(block.t) for block in first)


def _disturbed_share(blocks: Sequence[StepBlock]) -> float:
    total = sum(len(block.t) for block in blocks)
    disturbed = sum(
        len(block.t) for block in blocks if (block.others_cores or 0) > OTHERS_LIMIT_CORES
    )
    return disturbed / total if total else 0.0
