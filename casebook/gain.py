"""What the cure of a case really gains: slow.py against fixed.py, in turn, in fresh processes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

# Runs a script ("slow" or "fixed") and returns its seconds per unit of training.
Run = Callable[[str], float]

LEAST_ROUNDS = 2
MOST_ROUNDS = 4
# Half of the 30 % that a prediction may be off.
SMALL_SPREAD = 1.15


class GainError(RuntimeError):
    """No ratio could be measured; the message says why."""


@dataclass(frozen=True)
class Gain:
    """slow / fixed, with the least and the largest ratio that a round gave."""

    ratio: float
    low: float
    high: float
    rounds: int


def measure_rounds(run: Run, most_rounds: int = MOST_ROUNDS) -> Gain:
    """Rounds of both scripts, each starting with the other one, until they agree.

    Raises:
        GainError: no round gave a positive time for both scripts.
    """
    ratios: list[float] = []
    for number in range(most_rounds):
        order = ("slow", "fixed") if number % 2 == 0 else ("fixed", "slow")
        seconds = {script: run(script) for script in order}
        ratio = ratio_of(seconds["slow"], seconds["fixed"])
        if ratio is not None:
            ratios.append(ratio)
        if is_settled(ratios):
            break
    return summarise(ratios)


def ratio_of(slow_s: float, fixed_s: float) -> float | None:
    """slow / fixed, or None where noise left nothing positive to divide."""
    if slow_s <= 0 or fixed_s <= 0:
        return None
    return slow_s / fixed_s


def is_settled(ratios: list[float]) -> bool:
    """Whether enough rounds agree."""
    return len(ratios) >= LEAST_ROUNDS and max(ratios) / min(ratios) <= SMALL_SPREAD


def summarise(ratios: list[float]) -> Gain:
    """Median, least and largest ratio."""
    if not ratios:
        raise GainError("no round gave a positive training time for both scripts")
    return Gain(statistics.median(ratios), min(ratios), max(ratios), len(ratios))
