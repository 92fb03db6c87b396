"""The user's data without a model: how long a batch takes, and what that time is spent on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitdoctor.analysis.estimate import from_means, from_windows
from fitdoctor.analysis.watched_loop import loop_lines
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
    children_cores: float
    user_share: float | None  # of the samples: the user's Python code was running
    lock_share: float | None  # of the samples: the interpreter lock was held
    hot_line: tuple[str, int, str] | None
    hot_function: tuple[str, int, str] | None
    batch_bytes: int | None
    in_place: bool  # measured during training: the data can be read only once
    native_share: float | None = None  # of its Python code's time: inside native calls
    repeats: bool = False  # no random number was drawn for a batch: the work can be done once


def loader_of(workload: RecordedWorkload, core: Interval) -> Loader | None:
    """The loader alone, or in place where it can be read only once; None if neither was seen."""
    data = workload.result("loader_alone")
    if data is None:
        return _source(workload) or _watched(workload, core)
    ns = _loading(data["ns"], core)
    if ns is None:
        return None
    stacks = data.get("stacks") or {}
    return Loader(
        ns=ns,
        cores=float(data["own_cores"]),
        children_cores=float(data["children_cores"]),
        user_share=stacks.get("user_share"),
        lock_share=stacks.get("lock_share"),
        hot_line=_top(stacks.get("lines")),
        hot_function=_top(stacks.get("functions")),
        batch_bytes=data.get("bytes"),
        in_place=False,
        native_share=_made_natively(workload),
    )


def _source(workload: RecordedWorkload) -> Loader | None:
    """A generator, measured where it ran: on the thread that pulled it."""
    data = workload.result("source")
    if not data or not data.get("count"):
        return None
    wall = data["wall_ns"] / data["count"]
    return Loader(
        ns=Interval.around(wall, 0.1),
        cores=data["cpu_ns"] / max(1, data["wall_ns"]),
        children_cores=0.0,
        user_share=1.0,
        lock_share=None,
        hot_line=None,
        hot_function=None,
        batch_bytes=None,
        in_place=True,
        native_share=native_share(data.get("native"), data["cpu_ns"] / data["count"]),
        repeats=(data.get("native") or {}).get("random") is False,
    )


def _watched(workload: RecordedWorkload, core: Interval) -> Loader | None:
    """The iterator of a hand-written loop, watched while the loop read it."""
    seen = loop_lines(workload)
    if seen is None or seen.loading <= 0:
        return None
    part = seen.parts["loading"]
    ns = core.value * seen.loading
    # On JAX the last step may still be computed meanwhile; torch's threads spin for a while.
    alone = workload.detail.get("backend") in ("jax", "torch")
    cores = seen.cores("loading", own_thread=alone)
    hot = seen.hot_line("loading")
    return Loader(
        ns=Interval.around(ns, seen.error_of(seen.loading)),
        cores=cores,
        children_cores=0.0,
        user_share=1.0,
        lock_share=part["lock_held"] / max(1, part["samples"]),
        hot_line=hot,
        hot_function=hot,
        batch_bytes=None,
        in_place=True,
        native_share=native_share(seen.native, ns * cores),
        repeats=(seen.native or {}).get("random") is False,
    )


def _made_natively(workload: RecordedWorkload) -> float | None:
    made = workload.result("in_process")
    if not made:
        return None
    return native_share(made.get("native"), float(made.get("thread_cpu_ns", 0)))


def native_share(traced: dict[str, Any] | None, untraced_ns: float) -> float | None:
    """The part of a batch's time in native calls, of one batch that was traced."""
    if not traced or untraced_ns <= 0:
        return None
    native = float(traced["native_ns"])
    if traced["complete"] and traced["traced_ns"] < SAME_WORK * untraced_ns:
        return None  # another kind of batch than the usual one
    if not traced["complete"]:
        untraced_ns = native + (traced["traced_ns"] - native) / TRACING_FACTOR
    return min(1.0, native / max(1.0, untraced_ns))


def _loading(windows: list[float], core: Interval) -> Interval | None:
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


def _top(rows: list[list[Any]] | None) -> tuple[str, int, str] | None:
    return (str(rows[0][0]), int(rows[0][1]), str(rows[0][2])) if rows else None
