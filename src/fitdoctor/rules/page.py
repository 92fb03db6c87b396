"""A rule's page: its docstring, with the numbers filled in from the rule's own constants.

`${WORTH_GAIN:gain}` in a docstring becomes "10 %" where `WORTH_GAIN = 1.10`: page and code cannot
say different things. An interval becomes its value with its range: "80 (20 to 1500)".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fitdoctor.intervals import Interval

_FIELD = re.compile(r"\$\{([A-Z][A-Z0-9_]*)(?::([a-z]+))?\}")

_FORMS: dict[str, Callable[[float], str]] = {
    "": lambda value: f"{value:g}",
    "count": lambda value: f"{value:,.0f}",
    "gain": lambda value: f"{100 * (value - 1):.3g} %",  # 1.10 is a gain of 10 %
    "percent": lambda value: f"{100 * value:.3g} %",
    "times": lambda value: f"{value:g}x",
    "ms": lambda value: f"{value / 1e6:g} ms",
    "us": lambda value: f"{value / 1e3:g} µs",
    "s": lambda value: f"{value / 1e9:g} s",
    "mb": lambda value: f"{value / 2**20:g} MB",
}


def page(text: str | None, constants: Mapping[str, object]) -> str:
    """The page as people read it.

    Raises:
        KeyError: the page names a constant that the rule does not have.

    Example:
        >>> page("gains ${WORTH:gain} or more", {"WORTH": 1.1})
        'gains 10 % or more'
    """

    def value(found: re.Match[str]) -> str:
        number, form = constants[found[1]], _FORMS[found[2] or ""]
        if isinstance(number, Interval):
            return f"{form(number.value)} ({form(number.low)} to {form(number.high)})"
        if not isinstance(number, int | float):
            raise KeyError(f"{found[1]} is not a number")
        return form(float(number))

    return _FIELD.sub(value, text or "")
