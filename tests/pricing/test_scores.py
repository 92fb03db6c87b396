"""Widths from scores: as wide as needed, never narrower than what was measured."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, strategies as st

from fitdoctor.intervals import Interval
from fitdoctor.pricing.scores import SCRIPT, half_width, score, widened

gains = st.floats(1.01, 1000.0)
scores = st.lists(st.floats(0.0, 10.0), min_size=1, max_size=60)


def test_too_few_scores_give_no_width() -> None:
    assert half_width([], 0.5) is None
    assert half_width([0.1] * 8, 0.9) is None
    assert half_width([0.1] * 8 + [0.7], 0.9) == 0.7


def test_a_gain_that_is_none_keeps_its_interval() -> None:
    slower = Interval(0.9, 0.8, 1.0)
    assert widened(slower, 0.6, "modelled") == slower


@given(scores, st.sampled_from([0.5, 0.8, 0.9]))
def test_the_width_holds_at_least_that_part_of_the_scores(found: list[float], level: float) -> None:
    half = half_width(found, level)
    if half is not None:
        assert sum(one <= half for one in found) >= level * len(found)


@given(scores, st.floats(0.0, 10.0))
def test_a_larger_error_never_makes_the_width_smaller(found: list[float], more: float) -> None:
    half, after = half_width(found, 0.8), half_width([*found[1:], found[0] + more], 0.8)
    assert (half is None) == (after is None)
    assert half is None or after is None or after >= half


@given(gains, st.floats(1.0, 5.0), st.floats(1.0, 4.9), st.floats(0.0, 3.0))
def test_an_interval_is_never_made_narrower(
    value: float, below: float, above: float, half: float
) -> None:
    gain = Interval(value, value / below, value * above)
    found = widened(gain, half, "modelled")
    assert found.value == value
    assert found.low <= gain.low
    assert found.high >= gain.high


def test_an_end_that_was_not_seen_comes_from_the_scores() -> None:
    found = widened(Interval(17.0, 4.2, 1000.0), 0.6, "modelled")
    assert (found.low, round(found.high, 1)) == (4.2, 29.9)


@given(gains, gains, st.sampled_from(["modelled", "tried", SCRIPT]))
def test_the_interval_of_a_score_just_holds_what_was_proven(
    predicted: float, proven: float, how: str
) -> None:
    found = widened(Interval.exact(predicted), score(predicted, proven, how) + 1e-9, how)
    assert found.contains(proven)
    tighter = widened(Interval.exact(predicted), score(predicted, proven, how) * 0.99 - 1e-9, how)
    assert not tighter.contains(proven) or math.isclose(predicted, proven, rel_tol=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_as_many_new_gains_lie_inside_as_was_promised(level: float) -> None:
    """Errors of one kind, new each time; the promise is about the average over histories."""
    draw = random.Random(5)
    inside = []
    for _ in range(2000):
        *known, new = (abs(draw.lognormvariate(0.0, 0.5) - 1.0) for _ in range(31))
        half = half_width(known, level)
        assert half is not None
        inside.append(new <= half)
    assert level - 0.025 <= sum(inside) / len(inside) <= level + 1 / 31 + 0.025
