"""The best a pipeline can do on this machine, and the settings that get it there.

A batch needs CPU time, Python's lock and waiting from each of its stages, and the step beside
it needs CPU time, too. No batch comes faster than the busiest of these resources allows:

    t >= step                                     the training step itself
    t >= (CPU of all stages + CPU of the step) / cores
    t >= CPU of the Python stages                 one lock
    t >= (CPU + wait of a stage) / calls of it at a time

For a given cache point and order of batch and map this is a linear program in t whose solution
is the largest bound; the calls at a time follow from it. The few choices that are not linear
(where to cache, whether to batch first) are all tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fitdoctor.contract.limits import MEMORY_SHARE

# More calls at a time than this rarely help and may overload a server.
MOST_CALLS = 64
# A plan must be better by this factor to be worth a change.
WORTH = 1.02
# Reading one element back from a cache.
CACHE_ELEMENT_NS = 1_000.0


@dataclass(frozen=True)
class Work:
    """What one stage needs for one batch."""

    number: int
    op: str
    cpu_ns: float
    wait_ns: float = 0.0
    python: bool = False
    random: bool = False  # another result each time: nothing behind it may be cached
    parallel: bool = False  # can run several calls at a time
    cacheable: bool = False  # its output is the same in every pass
    elements: float = 1.0  # elements it gives for one batch
    output_bytes: float | None = None  # of a whole pass; None where unknown


@dataclass(frozen=True)
class Machine:
    """What there is to use."""

    cores: int
    free_bytes: float | None = None


@dataclass(frozen=True)
class Step:
    """The training step, alone."""

    ns: float
    cores: float = 1.0


@dataclass(frozen=True)
class Plan:
    """Settings for a pipeline, the step they lead to, and what limits it then."""

    step_ns: float
    binding: str
    cache_after: int | None = None
    batch_first: bool = False
    calls: tuple[tuple[int, int], ...] = ()  # stage number -> calls at a time
    pool: int | None = None  # threads, where tf.data's own (one per core) are too few
    shuffle_first: bool = False
    arrays: bool = False  # hand the arrays to fit instead of a dataset of their rows

    def sentence(self) -> str:
        """What limits the training after the plan."""
        return f"then {self.binding} is the limit"


def best_plan(
    stages: Sequence[Work],
    machine: Machine,
    step: Step,
    *,
    batched: Sequence[Work] | None = None,
) -> Plan:
    """The fastest plan; of equally fast ones, the one that changes least.

    Args:
        stages: the stages as written, the source first.
        machine: cores and memory.
        step: the training step without its input.
        batched: the stages with batching first, where that gives the same batches.
    """
    candidates = [
        replace(solve(left, machine, step), cache_after=cache_after, batch_first=is_batched)
        for is_batched, chain in ((False, stages), (True, batched))
        if chain is not None
        for cache_after, left in _cache_points(chain, machine)
    ]
    best = candidates[0]
    for plan in candidates[1:]:
        if plan.step_ns * WORTH < best.step_ns:
            best = plan
    return best


def _cache_points(
    stages: Sequence[Work], machine: Machine
) -> Iterator[tuple[int | None, list[Work]]]:
    """No cache, then one after each stage that allows it, with the work that stays."""
    yield None, list(stages)
    for index, stage in enumerate(stages):
        if not stage.cacheable or stage.random:
            return
        if index and _fits(stage, machine):
            read = CACHE_ELEMENT_NS * stage.elements
            yield stage.number, [Work(stage.number, "cache", read), *stages[index + 1 :]]


def _fits(stage: Work, machine: Machine) -> bool:
    if stage.output_bytes is None or machine.free_bytes is None:
        return False
    return stage.output_bytes <= MEMORY_SHARE * machine.free_bytes


def solve(stages: Sequence[Work], machine: Machine, step: Step) -> Plan:
    """The fastest step for one order of stages, with as few calls at a time as reach it."""
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
    calls = tuple(
        (stage.number, needed)
        for stage in stages
        if (needed := _calls(stage, fastest, machine)) > 1
    )
    total = sum(count for _, count in calls)
    return Plan(fastest, binding, calls=calls, pool=total if total > machine.cores else None)


def _alone(stage: Work) -> float:
    return stage.cpu_ns + stage.wait_ns


def _most_calls(stage: Work, machine: Machine) -> int:
    """Calls at a time that can help: many that wait, one per core that compute."""
    if not stage.parallel:
        return 1
    return MOST_CALLS if stage.wait_ns > stage.cpu_ns else max(1, machine.cores)


def _calls(stage: Work, step_ns: float, machine: Machine) -> int:
    if not stage.parallel or step_ns <= 0:
        return 1
    return min(_most_calls(stage, machine), max(1, math.ceil(_alone(stage) / step_ns - 1e-9)))
