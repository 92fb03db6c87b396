"""What each stage of a grain dataset costs: the chain read up to it, as for tf.data."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.seams.backends.base import NotAvailable
from fitdoctor.inside.seams.inputs.grain_chain import Stage, walk

SECONDS = 0.3  # for each stage
LEAST = 3  # elements of each, however long they take
LONGEST_S = 6.0  # for all of them


def grain_stages(dataset: Any, clock: Callable[[], float] = time.perf_counter) -> Data:
    """Nanoseconds of each stage per batch, its inputs included and apart.

    Read as Keras reads it, by grain's own threads, whose CPU time is the whole process's.
    """
    chain = walk(dataset)
    if len(chain) < 2:
        raise NotAvailable("it does not tell of its stages")
    begin = clock()
    rows: list[Data] = []
    per_batch = 1.0
    timed: list[tuple[int, float, float, float]] = []
    for number, stage in enumerate(chain):
        if timed and clock() - begin > LONGEST_S:
            break
        wall, cpu = _element_ns(stage, clock)
        timed.append((number, per_batch, wall * per_batch, cpu * per_batch))
        per_batch *= stage.needs
    if len(timed) < 2:
        raise NotAvailable("the stages took too long to be timed one by one")
    for (number, count, wall, cpu), below in zip(timed, [*timed[1:], None], strict=True):
        if below is None and number < len(chain) - 1:
            break  # what lies before it was not timed
        _, _, wall_before, cpu_before = below or (0, 0.0, 0.0, 0.0)
        rows.append(
            {
                "n": number,
                "per_batch": count,
                "ns": round(wall),
                "cpu_ns": round(cpu),
                "own_ns": round(max(0.0, wall - wall_before)),
                "own_cpu_ns": round(max(0.0, cpu - cpu_before)),
            }
        )
    return {"rows": rows}


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
