"""Limits such as `step > 1.1x`: a small grammar, its errors, and its answers.

condition = quantity ( ">" | ">=" | "<" | "<=" ) limit
quantity  = "step" | "ceiling" | "findings" | the name of a part, as in "input_wait"
limit     = NUMBER "x"                     times the value before
          | NUMBER ( "ns" | "us" | "ms" | "s" )
          | NUMBER "%"                     of a step; for parts only
          | NUMBER                         for findings only
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from fitdoctor.comparison.compared_run import Measured
from fitdoctor.comparison.pairs import Pair
from fitdoctor.contract.errors import UsageError
from fitdoctor.units import duration, factor, percent

PARTS = (
    "input_wait", "loader_contention", "callbacks", "validation", "checkpoint", "compile",
    "epoch_gap", "start_up", "between_calls", "loop_inside", "metrics", "unknown",
)  # fmt: skip
QUANTITIES = ("step", "ceiling", "findings", *PARTS)
_UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(
    r"\s*(?P<quantity>\w+)\s*(?P<sign>>=|<=|>|<)\s*(?P<number>\d+(?:\.\d+)?)\s*"
    r"(?P<unit>x|×|%|ns|us|µs|ms|s)?\s*"
)


@dataclass(frozen=True)
class Condition:
    """One limit; it is failed when the comparison holds."""

    text: str
    quantity: str
    sign: str
    limit: float
    unit: str  # x | % | ns | "" (a number)


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        UsageError: It does not fit the grammar.

    Example:
        >>> parse_condition("step > 50ms").limit
        50000000.0
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise _bad(text, "it is not of the form `quantity > limit`")
    quantity, sign, number, unit = match.group("quantity", "sign", "number", "unit")
    if quantity not in QUANTITIES:
        raise _bad(text, f"there is no quantity {quantity!r}; there are {', '.join(QUANTITIES)}")
    unit = {"×": "x", None: ""}.get(unit, unit)
    limit = float(number)
    if unit in _UNITS_NS:
        limit, unit = limit * _UNITS_NS[unit], "ns"
    if (unit == "") != (quantity == "findings"):
        wanted = "a plain number" if quantity == "findings" else "a unit: x, ms, s, us, ns or %"
        raise _bad(text, f"{quantity} needs {wanted}")
    if unit == "%" and quantity not in PARTS:
        raise _bad(text, f"% is a share of a step; for a change of {quantity} write 1.1x")
    return Condition(text.strip(), quantity, sign, limit, unit)


def broken(condition: Condition, pairs: list[Pair]) -> list[str]:
    """Every reason for which a limit is broken; none if all workloads keep it.

    Raises:
        UsageError: It could be checked on no workload, or what it is about was not measured.
    """
    # A change needs both sides, and every limit the side that it is about.
    is_change = condition.unit == "x"
    fitting = [pair for pair in pairs if pair.after and (pair.before or not is_change)]
    if not fitting:
        raise UsageError(
            f"{condition.text!r} cannot be checked: no workload is on "
            + ("both sides" if is_change else "that side"),
            expected="the same training before and after"
            if is_change
            else "a recording in which something was trained",
            advice="two recordings, or a limit such as 50ms",
        )
    return [reason for pair in fitting if (reason := broken_by(condition, pair))]


def broken_by(condition: Condition, pair: Pair) -> str:
    """Why a pair breaks the limit, empty if it keeps it or is not what it is about.

    Raises:
        UsageError: What the limit is about was not measured, so that nothing can be said.
    """
    if pair.after is None:
        return ""
    name = f"{condition.quantity} of {pair.after.title}"
    value = _value(condition, pair.after, "after")
    if condition.unit == "x":
        if pair.before is None:
            return ""
        before = _value(condition, pair.before, "before")
        if before <= 0:
            return "" if value <= 0 else f"{name} was nothing and is now there"
        value = value / before
    elif condition.unit == "%":
        step = pair.after.step
        if step is None:
            raise _unmeasured(condition, pair.after, "after")
        value = value / step.value * 100
    if not _COMPARE[condition.sign](value, condition.limit):
        return ""
    return f"{name} is {_words(condition, value)}"


def _value(condition: Condition, side: Measured, which: str) -> float:
    """The quantity of a side; a part that was not seen is zero, except for the input wait.

    The ledger always sees callbacks, validation and so on. The input wait cannot be seen
    everywhere: where it is not there, it was not measured.
    """
    quantity = condition.quantity
    if quantity == "findings":
        return float(len(side.findings))
    value = side.step.value if side.step is not None else None
    if quantity == "ceiling":
        value = side.ceiling_ns
    elif quantity != "step":
        missing = None if quantity == "input_wait" else 0.0
        value = side.parts.get(quantity, missing) if side.parts is not None else None
    if value is None:
        raise _unmeasured(condition, side, which)
    return value


def _words(condition: Condition, value: float) -> str:
    if condition.unit == "x":
        return f"{factor(value)}× what it was"
    if condition.unit == "%":
        return f"{percent(value / 100)} of a step"
    return duration(value) if condition.unit == "ns" else f"{value:.0f}"


def _bad(text: str, reason: str) -> UsageError:
    return UsageError(
        f"the condition {text!r} cannot be read: {reason}",
        expected='for example "step > 1.1x", "step > 50ms" or "input_wait > 20%"',
        advice="fitdoctor compare --help",
    )


def _unmeasured(condition: Condition, side: Measured, which: str) -> UsageError:
    return UsageError(
        f"{condition.text!r} cannot be checked: {condition.quantity} was not measured {which} "
        f"in {side.title}",
        expected="two runs that were long enough to be judged",
        advice="a longer run, or another condition",
    )
