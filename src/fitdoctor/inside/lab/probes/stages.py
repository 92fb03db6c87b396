"""What each stage of a tf.data or grain pipeline costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from fitdoctor.contract.evidence.pipeline import StageTime, StageTimes
from fitdoctor.inside.lab.apparatus.pipeline_bench import pipeline_bench
from fitdoctor.inside.lab.apparatus.slow_input import slow_adapter
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.seams.inputs.grain_chain import Stage, walk

SECONDS = 0.3  # for each stage
LEAST = 3  # elements of each, however long they take
LONGEST_S = 6.0  # for all of them


class TimeStages(Probe[StageTimes]):
    phase = Phase.INPUT
    subjects = frozenset({Subject.FIT, Subject.LOOP})

    def wanted(self, context: Context) -> bool:
        return pipeline_bench(context) is not None or _slow_grain(context) is not None

    def run(self, context: Context) -> StageTimes:
        bench = pipeline_bench(context)
        if bench is not None:
            return bench.ablation.run()
        adapter = _slow_grain(context)
        if adapter is None:
            raise NotAvailable("there is no pipeline that can be read again")
        return grain_stages(adapter._dataset)


def _slow_grain(context: Context) -> Any:
    return slow_adapter(context, "grain") if context.loop is None else None


class _Prefix(NamedTuple):
    """The chain up to a stage, per batch."""

    per_batch: float = 0.0
    ns: float = 0.0
    cpu_ns: float = 0.0


def grain_stages(dataset: Any, clock: Callable[[], float] = time.perf_counter) -> StageTimes:
    """Nanoseconds of each stage per batch, with its inputs and without.

    Read as Keras reads it, by grain's own threads, whose CPU time is the whole process's.

    Raises:
        NotAvailable: its stages cannot be seen, or take too long.
    """
    chain = walk(dataset)
    if len(chain) < 2:
        raise NotAvailable("its stages cannot be seen")
    timed = _prefixes(chain, clock)
    if len(timed) < 2:
        raise NotAvailable("the stages took too long to be timed one by one")
    # The source reads nothing. Of the last stage in time, what comes before it was not timed.
    below = [*timed[1:], _Prefix()] if len(timed) == len(chain) else timed[1:]
    return StageTimes(
        tuple(
            StageTime(
                n=number,
                per_batch=one.per_batch,
                ns=round(one.ns),
                cpu_ns=round(one.cpu_ns),
                own_ns=round(max(0.0, one.ns - before.ns)),
                own_cpu_ns=round(max(0.0, one.cpu_ns - before.cpu_ns)),
            )
            for number, (one, before) in enumerate(zip(timed, below, strict=False))
        )
    )


def _prefixes(chain: list[Stage], clock: Callable[[], float]) -> list[_Prefix]:
    """As many as there is time for, from the last stage on."""
    begin = clock()
    per_batch = 1.0
    timed: list[_Prefix] = []
    for stage in chain:
        if timed and clock() - begin > LONGEST_S:
            break
        wall, cpu = _element_ns(stage, clock)
        timed.append(_Prefix(per_batch, wall * per_batch, cpu * per_batch))
        per_batch *= stage.needs
    return timed


def _element_ns(stage: Stage, clock: Callable[[], float]) -> tuple[float, float]:
    """Wall and CPU nanoseconds of one element."""
    elements = iter(stage.dataset)
    begin, cpu = clock(), time.process_time_ns()
    count = 0
    while count < LEAST or clock() - begin < SECONDS:
        try:
            next(elements)
        except StopIteration:
            if not count:
                raise NotAvailable("the dataset gave no element") from None
            elements = iter(stage.dataset)
            continue
        count += 1
    return (clock() - begin) * 1e9 / count, (time.process_time_ns() - cpu) / count
