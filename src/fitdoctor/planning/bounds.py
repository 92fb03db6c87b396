"""The least time that a batch can take on this machine, and the calls at a time that reach it.

A batch needs CPU time, Python's lock and waiting from each of its stages, and the step beside
it needs CPU time, too. No batch comes faster than the busiest of these resources allows:

    t >= step                                     the training step itself
    t >= (CPU of all stages + CPU of the step) / cores
    t >= CPU of the Python stages                 one lock
    t >= (CPU + wait of a stage) / calls of it at a time

For given stages this is a linear program in t whose solution is the largest bound; the calls at a
time follow from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# More calls at a time than this rarely help and may overload a server.
MOST_CALLS = 64


@dataclass(frozen=True)
class Work:
    """What one stage needs for one batch."""

    number: int
    cpu_ns: float
    wait_ns: float = 0.0
    python: bool = False
    parallel: bool = False  # may run several calls at a time


@dataclass(frozen=True)
class Machine:
    """What there is to use."""

    cores: int
    free_bytes: float | None = None


@dataclass(frozen=True)
class Step:
    """The training step, alone."""

    ns: float = 0.0
    cores: float = 1.0


@dataclass(frozen=True)
class Bound:
    """The fastest batch, what limits it, and how to get there."""

    ns: float
    binding: str
    calls: tuple[tuple[int, int], ...] = ()  # stage number, calls at a time
    pool: int | None = None  # threads, where tf.data's own (one per core) are too few


def bound(stages: Sequence[Work], machine: Machine, step: Step) -> Bound:
    """The fastest batch of these stages, with as few calls at a time as reach it."""
    cpu = sum(stage.cpu_ns for stage in stages)
    lock = sum(stage.cpu_ns for stage in stages if stage.python)
    serial = max((_alone(stage) / _most_calls(stage, machine) for stage in stages), default=0.0)
    bounds = {
        "the step itself": step.ns,
        "CPU time": (cpu + step.ns * min(step.cores, machine.cores)) / machine.cores,
        "Python's lock": lock,
        "a stage that runs one call at a time": serial,
    }
    binding = max(bounds, key=lambda name: bounds[name])
    fastest = bounds[binding]
    needed = {stage.number: _calls(stage, fastest, machine) for stage in stages}
    calls = tuple((number, count) for number, count in needed.items() if count > 1)
    total = sum(count for _, count in calls)
    return Bound(fastest, binding, calls, total if total > machine.cores else None)


def waits(stage: Work) -> bool:
    """Whether a stage mostly waits, so that many calls of it at a time help."""
    return stage.wait_ns > stage.cpu_ns


def _alone(stage: Work) -> float:
    return stage.cpu_ns + stage.wait_ns


def _most_calls(stage: Work, machine: Machine) -> int:
    """Calls at a time that can help: many that wait, one per core that compute."""
    if not stage.parallel:
        return 1
    return MOST_CALLS if waits(stage) else max(1, machine.cores)


def _calls(stage: Work, batch_ns: float, machine: Machine) -> int:
    if not stage.parallel or batch_ns <= 0:
        return 1
    return min(_most_calls(stage, machine), max(1, math.ceil(_alone(stage) / batch_ns - 1e-9)))
