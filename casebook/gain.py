"""What the cure of a case really gains: slow.py against fixed.py in fresh processes.

Each script is run at two scales; the difference of the two wall times is the time of the extra
training alone, because imports, data making and compilation are in both. slow.py and fixed.py
may use different scales: a cure of 100x would else leave nothing to time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

# Runs a script ("slow" or "fixed") at a scale and returns its wall seconds.
Run = Callable[[str, float], float]

# Counts in the scripts are multiples of 10 at scale 1, so tenths give whole epochs and steps.
SCALE_STEP = 0.1
LARGEST_EXTRA = 40.0
# Start-up differs by about 0.2 s from process to process: 5 % of this.
EXTRA_TRAINING_S = 4.0
# A first guess from less than this would be mostly start-up noise.
LEAST_MEASURABLE_S = 1.0
LEAST_ROUNDS = 3
MOST_ROUNDS = 8
# Half of the 30 % that a prediction may be off.
SMALL_SPREAD = 1.15
BUDGET_S = 300.0


class GainError(RuntimeError):
    """No ratio could be measured; the message says why."""


@dataclass(frozen=True)
class Gain:
    """slow / fixed, with the least and the largest ratio that a round gave."""

    ratio: float
    low: float
    high: float
    rounds: int


def measure_step_gain(run: Run, *, clock: Callable[[], float], budget_s: float = BUDGET_S) -> Gain:
    """Ratio of the time per unit of training.

    Raises:
        GainError: no round gave a positive time for both scripts.
    """
    start = clock()
    extra = {script: choose_extra(run, script) for script in ("slow", "fixed")}
    ratios: list[float] = []
    for number in range(MOST_ROUNDS):
        ratio = _one_round(run, extra, mirrored=number % 2 == 1)
        if ratio is not None:
            ratios.append(ratio)
        if is_settled(ratios) or clock() - start > budget_s:
            break
    return summarise(ratios)


def measure_run_gain(run: Run, startup_s: float, *, rounds: int = LEAST_ROUNDS) -> Gain:
    """Ratio of whole runs at scale 1, less the start-up of a process that only imports keras."""
    ratios: list[float] = []
    for number in range(rounds):
        order = ("slow", "fixed") if number % 2 == 0 else ("fixed", "slow")
        seconds = {script: run(script, 1.0) - startup_s for script in order}
        ratio = ratio_of(seconds["slow"], seconds["fixed"])
        if ratio is not None:
            ratios.append(ratio)
    return summarise(ratios)


def choose_extra(run: Run, script: str) -> float:
    """The extra scale that gives about EXTRA_TRAINING_S of training."""
    base_s = run(script, SCALE_STEP)
    extra = SCALE_STEP
    while True:
        extra_s = run(script, whole_tenths(SCALE_STEP + extra)) - base_s
        if extra_s >= LEAST_MEASURABLE_S:
            return whole_tenths(min(LARGEST_EXTRA, extra * EXTRA_TRAINING_S / extra_s))
        if extra >= LARGEST_EXTRA:
            return LARGEST_EXTRA
        extra = whole_tenths(min(LARGEST_EXTRA, extra * 8))


def whole_tenths(scale: float) -> float:
    """`scale` rounded up to a multiple of SCALE_STEP.

    Example:
        >>> whole_tenths(0.31)
        0.4
    """
    # Without the small margin 0.30000000000000004 would become 0.4.
    return max(1, math.ceil(scale / SCALE_STEP - 1e-6)) / round(1 / SCALE_STEP)


def _one_round(run: Run, extra: dict[str, float], *, mirrored: bool) -> float | None:
    # A B B A: a slow drift of the machine falls on both scripts alike.
    outer, inner = ("fixed", "slow") if mirrored else ("slow", "fixed")
    outer_low = run(outer, SCALE_STEP)
    inner_low = run(inner, SCALE_STEP)
    inner_high = run(inner, whole_tenths(SCALE_STEP + extra[inner]))
    outer_high = run(outer, whole_tenths(SCALE_STEP + extra[outer]))
    seconds = {
        outer: (outer_high - outer_low) / extra[outer],
        inner: (inner_high - inner_low) / extra[inner],
    }
    return ratio_of(seconds["slow"], seconds["fixed"])


def ratio_of(slow_s: float, fixed_s: float) -> float | None:
    """slow / fixed, or None where noise left nothing positive to divide."""
    if slow_s <= 0 or fixed_s <= 0:
        return None
    return slow_s / fixed_s


def is_settled(ratios: list[float]) -> bool:
    """Whether enough rounds agree.

    The largest and the least are left out once there are five: one round that another process
    disturbed must not keep the measurement going.
    """
    if len(ratios) < LEAST_ROUNDS:
        return False
    inner = sorted(ratios)[1:-1] if len(ratios) >= 5 else sorted(ratios)
    return inner[-1] / inner[0] <= SMALL_SPREAD


def summarise(ratios: list[float]) -> Gain:
    """Median, least and largest ratio."""
    if not ratios:
        raise GainError("no round gave a positive training time for both scripts")
    return Gain(statistics.median(ratios), min(ratios), max(ratios), len(ratios))
