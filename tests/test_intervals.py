from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.intervals import Interval
from fitdoctor.units import duration, factor, gain, percent, size


def intervals(low: float = 0.001) -> st.SearchStrategy[Interval]:
    return st.tuples(*[st.floats(low, 1e9)] * 3).map(lambda v: Interval(*_ordered(v)))


def _ordered(values: tuple[float, ...]) -> tuple[float, float, float]:
    low, middle, high = sorted(values)
    return middle, low, high


def test_an_interval_that_does_not_hold_its_value_is_refused() -> None:
    with pytest.raises(ValueError, match="low <= value <= high"):
        Interval(1.0, 2.0, 3.0)


def test_a_divisor_that_may_be_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="positive divisor"):
        Interval.exact(1.0).divided_by(Interval(1.0, 0.0, 2.0))


@given(intervals(), intervals(), st.floats(0, 1), st.floats(0, 1))
def test_every_operation_contains_the_result_of_its_members(
    a: Interval, b: Interval, p: float, q: float
) -> None:
    x = min(a.high, max(a.low, a.low + p * (a.high - a.low)))
    y = min(b.high, max(b.low, b.low + q * (b.high - b.low)))
    slack = 1e-6
    for found, member in (
        (a + b, x + y),
        (a.divided_by(b), x / y),
        (Interval.maximum(a, b), max(x, y)),
        (a.minus(b), max(0.0, x - y)),
    ):
        assert found.low * (1 - slack) - slack <= member <= found.high * (1 + slack) + slack


def test_words_of_quantities() -> None:
    assert duration(148_000_000) == "148 ms"
    assert duration(999) == "999 ns"
    assert duration(0) == "0 ns"
    assert size(57_000_000) == "57.0 MB"
    assert percent(0.003) == "<1 %"
    assert percent(0.0) == "0 %"
    assert factor(41.2) == "41"
    assert gain(Interval(2.4, 1.9, 2.6)) == "2.4× (1.90–2.6)"


@given(intervals(), intervals())
def test_two_measurements_of_one_thing_are_both_kept(a: Interval, b: Interval) -> None:
    both = Interval.again(a, b)
    assert both == Interval.again(b, a)
    assert both.contains(a.value)
    assert both.contains(b.value)


def test_of_two_times_that_disagree_the_shorter_counts() -> None:
    first, second = Interval(10.0, 9.0, 11.0), Interval(11.0, 10.0, 12.0)
    assert Interval.again(first, second) == Interval(10.5, 9.0, 12.0)
    held_up = Interval(20.0, 18.0, 22.0)
    assert Interval.again(first, held_up) == Interval(10.0, 9.0, 22.0)


def test_the_smaller_and_the_larger_of_two_go_bound_by_bound() -> None:
    first, second = Interval(2.0, 1.0, 5.0), Interval(3.0, 0.5, 4.0)
    assert Interval.minimum(first, second) == Interval(2.0, 0.5, 4.0)
    assert Interval.maximum(first, second) == Interval(3.0, 1.0, 5.0)


def test_a_product_multiplies_bound_by_bound() -> None:
    assert Interval(2.0, 1.0, 3.0).times(Interval(2.0, 1.0, 4.0)) == Interval(4.0, 1.0, 12.0)
