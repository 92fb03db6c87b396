"""The user's data without a model: how long a batch takes, and what that time is spent on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fitdoctor.analysis.estimate import from_means, from_windows
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.evidence.loading import BatchInProcess, GeneratorInPlace, LoaderAlone
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.contract.places import Seen
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

# Python code under trace takes about this many times as long.
TRACING_FACTOR = 10.0
# A traced batch takes at least as long as others; one far below them was not made then.
SAME_WORK = 0.5


@dataclass(frozen=True)
class Loader:
    """The user's data without a model: time per batch, and what it was spent on."""

    ns: Interval
    cores: float  # CPU use of this process while loading; 1.0 is one core
    user_share: float | None  # of the samples: the user's Python code was running
    children_cores: float = 0.0
    lock_share: float | None = None  # of the samples: the interpreter lock was held
    hot_line: tuple[str, int, str] | None = None
    hot_function: tuple[str, int, str] | None = None
    in_place: bool = False  # measured during training: the data can be read only once
    native_share: float | None = None  # of its Python code's time: inside native calls
    repeats: bool = False  # no random number was drawn for a batch: the work can be done once

    @property
    def busy_cores(self) -> float:
        """CPU use of this process and its workers."""
        return self.cores + self.children_cores


def loader_of(workload: RecordedWorkload, core: Interval) -> Loader | None:
    """The loader alone, or in place where it can be read only once; None if neither was seen."""
    alone = workload.found(LoaderAlone)
    if alone is None:
        return _source(workload) or _watched(workload, core)
    ns = _loading(alone.ns, core)
    if ns is None:
        return None
    stacks, made = alone.stacks, workload.found(BatchInProcess)
    return Loader(
        ns=ns,
        cores=alone.own_cores,
        children_cores=alone.children_cores,
        user_share=stacks.user_share if stacks else None,
        lock_share=stacks.lock_share if stacks else None,
        hot_line=_top(stacks.lines) if stacks else None,
        hot_function=_top(stacks.functions) if stacks else None,
        native_share=native_share(made.native, made.thread_cpu_ns) if made else None,
    )


def _source(workload: RecordedWorkload) -> Loader | None:
    """A generator, measured where it ran: on the thread that pulled it."""
    seen = workload.found(GeneratorInPlace)
    if seen is None or not seen.count:
        return None
    wall = seen.wall_ns / seen.count
    return Loader(
        ns=Interval.around(wall, 0.1),
        cores=seen.cpu_ns / max(1, seen.wall_ns),
        user_share=1.0,
        in_place=True,
        native_share=native_share(seen.native, seen.cpu_ns / seen.count),
        repeats=seen.native is not None and seen.native.random is False,
    )


def _watched(workload: RecordedWorkload, core: Interval) -> Loader | None:
    """The iterator of a hand-written loop, watched while the loop read it."""
    seen = loop_lines(workload)
    if seen is None or seen.loading <= 0:
        return None
    part = seen.parts["loading"]
    ns = core.value * seen.loading
    # On JAX the last step may still be computed meanwhile; torch's threads spin for a while.
    alone = workload.detail.backend in ("jax", "torch")
    cores = seen.cores("loading", own_thread=alone)
    hot = seen.hot_line("loading")
    return Loader(
        ns=Interval.around(ns, seen.error_of(seen.loading)),
        cores=cores,
        user_share=1.0,
        lock_share=part.lock_held / max(1, part.samples),
        hot_line=hot,
        hot_function=hot,
        in_place=True,
        native_share=native_share(seen.native, ns * cores),
        repeats=seen.native is not None and seen.native.random is False,
    )


def native_share(traced: NativePart | None, untraced_ns: float) -> float | None:
    """The part of a batch's time in native calls, of one batch that was traced."""
    if traced is None or untraced_ns <= 0:
        return None
    native = float(traced.native_ns)
    if traced.complete and traced.traced_ns < SAME_WORK * untraced_ns:
        return None  # another kind of batch than the usual one
    if not traced.complete:
        untraced_ns = native + (traced.traced_ns - native) / TRACING_FACTOR
    return min(1.0, native / max(1.0, untraced_ns))


def _loading(windows: Sequence[float], core: Interval) -> Interval | None:
    """Time per batch: the mean, since training waits for rare long batches, too.

    But never longer than training itself took for a step, unless batches typically are:
    then something else held the probe up.
    """
    mean, typical = from_means(windows, [1.0] * len(windows)), from_windows(windows)
    if mean is None or typical is None or mean.value <= core.value:
        return mean
    if typical.value >= core.value:
        return typical
    value = max(typical.value, core.value)
    return Interval(value, min(typical.low, value), max(core.high, value))


def _top(rows: Sequence[Seen]) -> tuple[str, int, str] | None:
    return rows[0][:3] if rows else None
