"""Gains as ratios with an interval: the only way fitdoctor states an effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Two measurements that differ by no more than this factor agree.
AGREE = 1.15


@dataclass(frozen=True)
class Interval:
    """A measured or predicted quantity with the range it lies in (90 %).

    Example:
        >>> Interval(2.0, 1.8, 2.2).contains(2.1)
        True
    """

    value: float
    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse an interval that does not hold its own value."""
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"an interval needs low <= value <= high, received {self.low!r} <= "
                f"{self.value!r} <= {self.high!r}"
            )

    @classmethod
    def exact(cls, value: float) -> Interval:
        """A quantity without uncertainty."""
        return cls(value, value, value)

    @classmethod
    def around(cls, value: float, relative: float) -> Interval:
        """A positive quantity known to within a relative error, symmetric as a factor."""
        factor = 1.0 + relative
        return cls(value, value / factor, value * factor)

    def contains(self, value: float) -> bool:
        """Whether the range holds the value."""
        return self.low <= value <= self.high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.value + other.value, self.low + other.low, self.high + other.high)

    def minus(self, other: Interval, *, floor: float = 0.0) -> Interval:
        """The difference of two quantities, never below the floor."""
        value = max(floor, self.value - other.value)
        low = max(floor, self.low - other.high)
        high = max(floor, self.high - other.low)
        return Interval(value, min(low, value), max(high, value))

    def scaled(self, factor: float) -> Interval:
        """The quantity times a non-negative number."""
        if factor < 0:
            raise ValueError(f"scaled() needs a factor >= 0, received {factor!r}")
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def divided_by(self, other: Interval) -> Interval:
        """The ratio of two positive quantities."""
        if other.low <= 0:
            raise ValueError(f"divided_by() needs a positive divisor, received {other!r}")
        return Interval(self.value / other.value, self.low / other.high, self.high / other.low)

    def times(self, other: Interval) -> Interval:
        """The product of two quantities that are not negative."""
        return Interval(self.value * other.value, self.low * other.low, self.high * other.high)

    @staticmethod
    def minimum(first: Interval, second: Interval) -> Interval:
        """The smaller of two quantities, bound by bound."""
        return Interval(
            min(first.value, second.value),
            min(first.low, second.low),
            min(first.high, second.high),
        )

    @staticmethod
    def maximum(first: Interval, second: Interval) -> Interval:
        """The larger of two quantities, bound by bound."""
        return Interval(
            max(first.value, second.value),
            max(first.low, second.low),
            max(first.high, second.high),
        )

    @staticmethod
    def again(first: Interval, second: Interval) -> Interval:
        """Two times of one thing, from the lower end to the upper one.

        Their mean where they agree. Where they do not, something held one of them up, and
        nothing makes a machine faster than it is: the shorter.
        """
        shorter, longer = sorted((first.value, second.value))
        value = (shorter + longer) / 2.0 if longer <= AGREE * shorter else shorter
        return Interval(value, min(first.low, second.low), max(first.high, second.high))

    def to_json(self) -> dict[str, Any]:
        """The form of a gain in the JSON report."""
        return {
            "ratio": round(self.value, 3),
            "low": round(self.low, 3),
            "high": round(self.high, 3),
        }
