"""How numbers are written for people; every text of a quantity is made here."""

from __future__ import annotations

from fitdoctor.intervals import Interval

_NS_PER_US = 1_000
_NS_PER_MS = 1_000_000
_NS_PER_S = 1_000_000_000


# A prediction that reaches this far, and this far beyond its own value, has no upper end.
UNBOUNDED = 100.0
UNBELIEVABLE = 5.0


def duration(ns: float) -> str:
    """A time span with the unit that suits it and at most three digits.

    Example:
        >>> duration(148_000_000), duration(2_340), duration(75_000_000_000)
        ('148 ms', '2.34 µs', '75.0 s')
    """
    for size, unit in ((_NS_PER_S, "s"), (_NS_PER_MS, "ms"), (_NS_PER_US, "µs")):
        if ns >= size:
            return f"{_digits(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def size(count_bytes: float) -> str:
    """A number of bytes with the decimal unit that suits it.

    Example:
        >>> size(57_000_000), size(900)
        ('57.0 MB', '900 B')
    """
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count_bytes >= scale:
            return f"{_digits(count_bytes / scale)} {unit}"
    return f"{count_bytes:.0f} B"


def percent(share: float) -> str:
    """A share of one as a whole percentage, with "<1 %" for what would round to nothing."""
    if 0 < share < 0.005:
        return "<1 %"
    return f"{share * 100:.0f} %"


def gain(ratio: Interval) -> str:
    """A gain with its interval, as in `2.4× (1.9–2.6)`; without an end that nobody could believe.

    Example:
        >>> gain(Interval(17.0, 7.2, 1000.0))
        '17× (at least 7.2)'
    """
    if ratio.high >= UNBOUNDED and ratio.high >= UNBELIEVABLE * ratio.value:
        return f"{factor(ratio.value)}× (at least {factor(ratio.low)})"
    return f"{factor(ratio.value)}× ({factor(ratio.low)}–{factor(ratio.high)})"


def times(count: int) -> str:
    """How often.

    Example:
        >>> times(1), times(3)
        ('once', '3 times')
    """
    return "once" if count == 1 else f"{count} times"


def factor(value: float) -> str:
    """A ratio with the digits that mean something: 1.04, 2.4, 41."""
    if value >= 10:
        return f"{value:.0f}"
    if value >= 2:
        return f"{value:.1f}"
    return f"{value:.2f}"


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
