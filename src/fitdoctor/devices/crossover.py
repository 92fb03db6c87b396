"""From which batch size and after how many steps one device beats the other: arithmetic only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from fitdoctor.intervals import Interval

Sweep = Mapping[int, Interval]  # nanoseconds per step by batch size


@dataclass(frozen=True)
class Crossover:
    """Where two sweeps cross; one of the bounds is missing where they do not within the sweep."""

    size: float | None
    low: float | None
    high: float | None
    always: str | None = None  # the device that won at every size


def ratio_at(cpu: Sweep, gpu: Sweep, size: int) -> Interval | None:
    """Time on the CPU over time on the GPU: above one, the GPU is faster."""
    if size not in cpu or size not in gpu:
        return None
    return cpu[size].divided_by(gpu[size])


def crossover(cpu: Sweep, gpu: Sweep) -> Crossover | None:
    """The batch size at which both take the same time, between neighbours on a log scale."""
    sizes = sorted(set(cpu) & set(gpu))
    if not sizes:
        return None
    ratios = [cpu[size].divided_by(gpu[size]) for size in sizes]
    if all(ratio.value < 1 for ratio in ratios):
        return Crossover(None, None, None, "cpu")
    if all(ratio.value >= 1 for ratio in ratios):
        return Crossover(None, None, None, "gpu")
    return Crossover(
        size=_crossing(sizes, [ratio.value for ratio in ratios]),
        low=_crossing(sizes, [ratio.high for ratio in ratios]),
        high=_crossing(sizes, [ratio.low for ratio in ratios]),
    )


def _crossing(sizes: list[int], ratios: list[float]) -> float | None:
    """Where a ratio rises to one for good; None where it does not within the sweep."""
    neighbours = list(pairwise(zip(sizes, ratios, strict=True)))
    for (smaller, before), (larger, after) in reversed(neighbours):
        if before < 1 <= after:
            share = math.log(1 / before) / math.log(after / before)
            return float(smaller * (larger / smaller) ** share)
    return float(sizes[0]) if ratios[0] >= 1 and ratios[-1] >= 1 else None


def break_even_steps(
    start_cpu: float, start_gpu: float, step_cpu: float, step_gpu: float
) -> float | None:
    """After how many steps the GPU's longer start-up is paid back; None = never."""
    if step_gpu >= step_cpu:
        return None
    return max(0.0, (start_gpu - start_cpu) / (step_cpu - step_gpu))
