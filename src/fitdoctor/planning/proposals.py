"""Joint plans for a pipeline: order, cache, calls and threads together, the most promising first.

For a given order and cache point the best calls at a time follow from the bounds. The few choices
that are left are all computed; those that promise most are worth a trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fitdoctor.contract.evidence.plans import InputPlan
from fitdoctor.contract.limits import MEMORY_SHARE, TF_DATA_READS
from fitdoctor.planning.bounds import Bound, Machine, Step, Work, bound, waits
from fitdoctor.planning.chain import ChainStage, Order, kept_share

AUTOTUNE = -1
# A plan must promise this much more to come before one that changes less.
WORTH = 1.02
# Reading one element back from a cache.
CACHE_ELEMENT_NS = 1_000.0
# Work before a cache must be this share of the whole.
WORTH_KEEPING = 0.12
PARALLEL = frozenset({"map", "interleave"})


@dataclass(frozen=True)
class KnownOrder:
    """An order of the stages that data has shown to give the same elements."""

    order: Order
    same: bool = True  # bit for bit; False: except for rounding
    keeps_order: bool = True


@dataclass(frozen=True)
class Proposal:
    """A plan, what it may change, and the batch that it promises."""

    plan: InputPlan
    ns: float
    binding: str
    same: bool = True
    keeps_order: bool = True
    redraws: bool = False

    @property
    def is_safe(self) -> bool:
        """The same elements in the same order, bit for bit."""
        return self.same and self.keeps_order and not self.redraws


def proposals(
    stages: Mapping[int, ChainStage], orders: Sequence[KnownOrder], machine: Machine, step: Step
) -> list[Proposal]:
    """Plans that promise more than the pipeline as written, the best first.

    Of those that promise the same, one that changes less comes first.

    Args:
        stages: what was measured, by number.
        orders: the order as written first, then others.
        machine: cores and free memory.
        step: the training step, beside which the batches are made.
    """
    as_written = InputPlan(order=orders[0].order)
    found = [
        one
        for known in orders
        for redraws in (False, True)
        for one in _planned(stages, known, machine, step, redraws=redraws)
        if one.plan != as_written
    ]
    unique = list({one.plan: one for one in sorted(found, key=lambda one: one.is_safe)}.values())
    return sorted(unique, key=lambda one: (_rounded(one.ns), _changes(one, as_written)))


def _rounded(ns: float) -> int:
    """Promises that are nearly the same are the same."""
    level, left = 0, ns
    while left > 1.0:
        left /= WORTH
        level += 1
    return level


def _changes(proposal: Proposal, as_written: InputPlan) -> tuple[bool, int]:
    plan = proposal.plan
    is_moved = plan.order != as_written.order
    # An order that was moved was moved for a reason that the bounds do not know of.
    count = len(plan.calls) + (plan.cache_after is not None) + (plan.pool is not None)
    return not proposal.is_safe, count - 10 * is_moved


def _planned(
    stages: Mapping[int, ChainStage],
    known: KnownOrder,
    machine: Machine,
    step: Step,
    *,
    redraws: bool,
) -> Iterator[Proposal]:
    """Without a cache, and with one at the best place for it."""
    works = _works(stages, known.order)
    yield _proposal(stages, known, works, machine, step, redraws=redraws)
    cached = [
        _proposal(stages, known, works, machine, step, redraws=redraws, cache_after=number)
        for number in cache_points(stages, known.order, machine)
    ]
    if cached:
        # Of caches that are as good, the last one: it hands over the fewest elements.
        yield min(reversed(cached), key=lambda one: _rounded(one.ns))


def _proposal(
    stages: Mapping[int, ChainStage],
    known: KnownOrder,
    works: Mapping[int, Work],
    machine: Machine,
    step: Step,
    *,
    redraws: bool,
    cache_after: int | None = None,
) -> Proposal:
    left = [works[number] for number in known.order]
    if cache_after is not None:
        read = Work(
            cache_after, CACHE_ELEMENT_NS * elements_after(stages, known.order, cache_after)
        )
        left = [*left[: known.order.index(cache_after)], read]
    best = bound(left, machine, step)
    running = {work.number for work in left if work.number != cache_after}
    calls = _calls(stages, running, works, best, redraws=redraws)
    pool = max((count for count in calls.values()), default=0)
    return Proposal(
        InputPlan(
            order=known.order,
            calls=tuple(sorted(calls.items())),
            cache_after=cache_after,
            pool=pool if pool > machine.cores else None,
        ),
        best.ns,
        best.binding,
        known.same,
        known.keeps_order,
        redraws=any(stages[number].random for number in calls),
    )


def _works(stages: Mapping[int, ChainStage], order: Order) -> dict[int, Work]:
    """What each stage needs in this order: after a filter, less."""
    chain = [stages[number] for number in sorted(order)]
    found = {}
    for at, number in enumerate(order):
        stage = stages[number]
        share = 1.0
        for earlier in order[at + 1 :]:
            # As written, this filter came after it: smaller numbers are nearer to the end.
            if stages[earlier].op == "filter" and earlier < number:
                share *= kept_share(stages[earlier], chain)
        found[number] = Work(
            number,
            stage.cpu_ns * share,
            stage.wait_ns * share,
            python=stage.python,
            parallel=stage.op in PARALLEL,
        )
    return found


def _calls(
    stages: Mapping[int, ChainStage],
    running: set[int],
    works: Mapping[int, Work],
    best: Bound,
    *,
    redraws: bool,
) -> dict[int, int]:
    """Calls at a time where TensorFlow would not choose them by itself.

    It runs maps without a state in parallel, but with no more threads than there are cores.
    """
    needed, found = dict(best.calls), {}
    for number in sorted(running & needed.keys()):
        stage = stages[number]
        if waits(works[number]):
            count = max(TF_DATA_READS, needed[number])
            if (stage.calls or 0) < count and (redraws or not stage.random):
                found[number] = count
        elif stage.calls in (None, 1):
            is_left = stage.op == "map" and not stage.random
            if not is_left and not stage.python and (redraws or not stage.random):
                found[number] = AUTOTUNE
    return found


def elements_after(stages: Mapping[int, ChainStage], order: Order, number: int) -> float:
    """Elements that a stage gives for one batch in this order: one, after the batching."""
    above = order[order.index(number) :]
    return 1.0 if any(stages[n].op == "batch" for n in above) else stages[number].per_batch


def cache_points(stages: Mapping[int, ChainStage], order: Order, machine: Machine) -> Iterator[int]:
    """Stages whose output is the same in every pass, fits into memory and is worth keeping."""
    total = sum(stages[number].work_ns for number in order) or 1.0
    # Before a take, a cache would never be full.
    first = max((order.index(n) for n in order if stages[n].op == "take"), default=-1)
    work, shuffles = 0.0, any(stages[number].op == "shuffle" for number in order)
    for number in reversed(order):
        stage = stages[number]
        if stage.random or stage.op in ("shuffle", "repeat") or not stage.cacheable:
            return
        work += stage.work_ns
        # Whole batches could not be shuffled any more.
        is_batch = stage.op == "batch" and shuffles
        is_before_take = order.index(number) > first >= 0
        if is_batch or is_before_take or stage.op in ("prefetch", "skip", "take"):
            continue
        if work >= WORTH_KEEPING * total and fits(stage, machine):
            yield number


def fits(stage: ChainStage, machine: Machine) -> bool:
    """Whether all that a stage gives fits into the memory that a cache may take."""
    if stage.element_bytes is None or machine.free_bytes is None:
        return False
    # Of an unknown number of elements, those who know it decide later.
    size = stage.element_bytes * (stage.elements or 1.0)
    return size <= MEMORY_SHARE * machine.free_bytes
