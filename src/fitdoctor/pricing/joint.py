"""The gain of several cures together: savings add up part by part, gains never multiply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fitdoctor.intervals import Interval

_SMALLEST_SHARE = 0.001  # no prediction goes below this share of the present step


def after(total: Interval, saved: Interval) -> Interval:
    """What is left of a step when something is saved from it."""
    floor = total.value * _SMALLEST_SHARE
    value = max(floor, total.value - saved.value)
    # The uncertainty that counts is the saving's: the total is in numerator and denominator.
    low = max(floor, total.value - saved.high)
    high = max(floor, total.value - saved.low)
    return Interval(value, min(low, value), max(high, value))


def saved_leaving(total: Interval, left: Interval) -> Interval:
    """What is saved when this much is left of a step.

    For cures that take nearly everything away, what is left is known better than what
    is saved: 98 % saved, give or take 2 %, would say nothing about the gain.
    """
    return Interval.exact(total.value).minus(left)


def gain(total: Interval, saved: Interval) -> Interval:
    """Time now over time after."""
    left = after(total, saved)
    return Interval(total.value / left.value, total.value / left.high, total.value / left.low)


def joint_gain(
    total: Interval, savings: Sequence[dict[str, Interval]], parts: dict[str, float]
) -> Interval | None:
    """The gain of all cures at once.

    Two cures of the same part do not add up: the better one counts. No part gives more
    than it has, but all cures together give no less than the best of them alone: a larger
    batch is booked to the step, and takes from the waits between steps as well.
    """
    if not savings:
        return None
    best: dict[str, Interval] = {}
    for saving in savings:
        for part, saved in saving.items():
            if part not in best or saved.value > best[part].value:
                best[part] = saved
    combined = _sum(_capped(saved, parts.get(part)) for part, saved in best.items())
    alone = max((_sum(saving.values()) for saving in savings), key=lambda saved: saved.value)
    return gain(total, alone if alone.value > combined.value else combined)


def gain_of_all(
    total: Interval,
    cures: Sequence[tuple[Interval, dict[str, Interval]]],
    parts: dict[str, float],
) -> Interval | None:
    """The gain of all cures, each told by its own gain and by what it saves of which part.

    Never less than the best of them alone: a cure that saves on the start-up, or on all parts at
    once, is not bound to one part.
    """
    prices = [own for own, _ in cures]
    joint = joint_gain(total, [saves for _, saves in cures if saves], parts)
    if joint is not None:
        prices.append(joint)
    return max(prices, key=lambda price: price.value, default=None)


def _sum(saved: Iterable[Interval]) -> Interval:
    return sum(saved, start=Interval.exact(0.0))


def _capped(saved: Interval, available: float | None) -> Interval:
    if available is None:
        return saved
    return Interval(
        min(saved.value, available), min(saved.low, available), min(saved.high, available)
    )
