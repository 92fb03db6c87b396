"""From what the probes measured of a pipeline to the planner's terms."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.planner import WORTH, Machine, Plan, Step, Work, best_plan
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import (
    AsArrays,
    BatchFirst,
    Cached,
    EarlyShuffle,
    MoreReads,
)
from fitdoctor.contract.limits import MEMORY_SHARE

_PARALLEL = frozenset({"map", "interleave"})
_ENDS_CACHING = frozenset({"shuffle", "repeat", "cache", "from_generator"})


def plan_for(view: View) -> Plan | None:
    """The best plan for the pipeline of a workload; None where its stages were not timed."""
    timed = [stage for stage in reversed(view.stages) if stage.ns is not None]
    if not timed or view.frozen is None:
        return None
    cached = view.found(Cached)
    free = cached.available_bytes if cached is not None else None
    work = _scaled_to_whole(view, stage_work(timed, view.cpus, view.steps_per_epoch))
    plan = best_plan(
        work,
        Machine(view.cpus, free),
        Step(view.ceiling_step.value, view.frozen_cores),
        batched=_batched(view, work),
    )
    return _with_tried(view, plan)


def _with_tried(view: View, plan: Plan) -> Plan:
    """What a trial showed: more reads at a time, arrays instead of rows, an early shuffle."""
    reads = view.trial(MoreReads)
    # What was tried is surer than what was computed, and threads that wait cost next to nothing.
    if reads is not None and max(view.ceiling_step.value, reads.ns.value) <= plan.step_ns:
        plan = _with_reads(view, plan, reads.found.reads, reads.ns.value)
    plan = _with_cache(view, plan)
    arrays = view.trial(AsArrays)
    if arrays is not None and arrays.left.high < 1.0:
        as_arrays = max(view.ceiling_step.value, arrays.ns.value)
        if as_arrays < plan.step_ns or plan.cache_after is None:
            return replace(plan, arrays=True, step_ns=as_arrays)
    shuffled = view.found(EarlyShuffle)
    # Behind a shuffle nothing is the same in every pass: a cache and an early shuffle exclude each
    # other, and with a cache the buffer is quick to fill.
    if plan.cache_after is not None or shuffled is None:
        return plan
    faster = shuffled.changed.ns < shuffled.as_written.ns
    return replace(plan, shuffle_first=True) if faster else plan


def _with_cache(view: View, plan: Plan) -> Plan:
    """A cache that was tried: of Python functions only a trial tells that they repeat themselves.

    More threads would help its first epoch only, and be in each other's way in all others.
    """
    cache = view.trial(Cached)
    if cache is None or plan.cache_after is not None or view.passes == 1:
        return plan
    found, steps = cache.found, view.steps_per_epoch
    free, element = found.available_bytes, found.element_bytes
    if free is None or element is None or steps is None:
        return plan
    fits = element * (found.per_batch or 1.0) * steps <= MEMORY_SHARE * free
    after = max(view.ceiling_step.value, cache.ns.value)
    if not fits or after * WORTH >= plan.step_ns:
        return plan
    binding = "the step itself" if after <= view.ceiling_step.value else "reading the cache"
    return Plan(after, binding, cache_after=found.stage)


def _with_reads(view: View, plan: Plan, reads: int, loader_ns: float) -> Plan:
    """As many reads at a time as were tried, with threads of their own."""
    maps = tuple((stage.n, reads) for stage in view.stages if stage.op in _PARALLEL)
    step_ns = max(view.ceiling_step.value, loader_ns)
    binding = "the step itself" if step_ns > loader_ns else "reading"
    return replace(
        plan, calls=maps, pool=reads * len(maps), step_ns=step_ns, binding=binding, cache_after=None
    )


def _scaled_to_whole(view: View, work: list[Work]) -> list[Work]:
    """Stages read one element at a time from Python cost CPU time that the whole does not."""
    loader = view.loader
    stages = sum(one.cpu_ns for one in work)
    if loader is None or not stages:
        return work
    whole = loader.busy_cores * loader.ns.value
    share = min(1.0, whole / stages)
    return [replace(one, cpu_ns=one.cpu_ns * share, wait_ns=_wait(one, share)) for one in work]


def _wait(one: Work, share: float) -> float:
    """What is no CPU time after all was waited, where a stage waits at all."""
    return one.wait_ns + one.cpu_ns * (1.0 - share) if one.wait_ns else 0.0


def stage_work(stages: list[StageCost], cpus: int, steps_per_epoch: float | None) -> list[Work]:
    """Stages, the source first, in the planner's terms."""
    found = []
    cacheable = True
    for stage in stages:
        cacheable = cacheable and not (stage.random or stage.python or stage.op in _ENDS_CACHING)
        found.append(_work(stage, cpus, steps_per_epoch, cacheable=cacheable))
    return found


def _work(stage: StageCost, cpus: int, steps_per_epoch: float | None, *, cacheable: bool) -> Work:
    cpu = stage.own_cpu_ns or 0.0
    parallel = stage.op in _PARALLEL
    # Calls that already run side by side show only a part of their waiting.
    in_flight = cpus if parallel and stage.parallel not in (None, 1) else 1
    wait = max(0.0, (stage.own_ns or 0.0) * in_flight - cpu)
    elements = stage.per_batch or 1.0
    size = None
    if stage.element_bytes is not None and steps_per_epoch is not None:
        size = stage.element_bytes * elements * steps_per_epoch
    return Work(
        number=stage.n,
        op=stage.op,
        cpu_ns=cpu,
        # Wall without CPU where nothing can wait is the noise of a difference.
        wait_ns=wait if parallel else 0.0,
        python=stage.python,
        random=stage.random,
        parallel=parallel,
        cacheable=cacheable,
        elements=elements,
        output_bytes=size,
    )


def _batched(view: View, work: list[Work]) -> list[Work] | None:
    """The work with batching first, where that was tried and gave the same batches."""
    trial = view.trial(BatchFirst)
    if trial is None or not trial.found.same:
        return None
    left = trial.left.value
    # Moved behind a shuffle, the maps see another order in every pass: nothing to cache.
    shuffled = any(one.op == "shuffle" for one in work)
    return [
        replace(
            one,
            cpu_ns=one.cpu_ns * left,
            wait_ns=one.wait_ns * left,
            cacheable=one.cacheable and not shuffled,
        )
        for one in work
    ]
