"""The interval of a ratio: what it must not claim, then what it must."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, strategies as st

from fitdoctor.proof.ratio import LEAST_PAIRS, NOISE_FLOOR, is_tight, ratio_of

times = st.floats(min_value=1e-6, max_value=1e9)


def test_too_few_pairs_give_no_interval() -> None:
    assert ratio_of([2.0] * (LEAST_PAIRS - 1), [1.0] * (LEAST_PAIRS - 1)) is None
    assert not is_tight(None, 0.5)


def test_unpaired_times_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs are needed"):
        ratio_of([1.0, 2.0], [1.0])


@given(st.lists(st.tuples(times, times), min_size=LEAST_PAIRS, max_size=12))
def test_the_interval_holds_the_value_and_is_never_narrower_than_the_floor(
    pairs: list[tuple[float, float]],
) -> None:
    found = ratio_of([a for a, _ in pairs], [b for _, b in pairs])
    assert found is not None
    assert found.low <= found.value <= found.high
    assert found.high / found.value >= math.exp(NOISE_FLOOR) * (1 - 1e-9)


@given(st.lists(st.tuples(times, times), min_size=LEAST_PAIRS, max_size=12))
def test_turning_the_sides_round_turns_the_interval_round(
    pairs: list[tuple[float, float]],
) -> None:
    there = ratio_of([a for a, _ in pairs], [b for _, b in pairs])
    back = ratio_of([b for _, b in pairs], [a for a, _ in pairs])
    assert there is not None and back is not None
    assert there.low == pytest.approx(1 / back.high, rel=1e-6)
    assert there.value == pytest.approx(1 / back.value, rel=1e-6)


def test_drift_that_both_sides_share_does_not_widen_the_interval() -> None:
    drift = [1.0, 1.5, 2.0, 4.0]
    found = ratio_of([3 * d for d in drift], drift)
    assert found is not None
    assert is_tight(found, 0.01)
    assert found.value == pytest.approx(3.0)


def test_coverage_is_what_it_says() -> None:
    # 95 % of 600 seeded trials, give or take 3.5 standard errors (0.9 %).
    source = random.Random(1)
    hits = 0
    for _ in range(600):
        before = [2 * source.lognormvariate(0, 0.2) for _ in range(5)]
        after = [source.lognormvariate(0, 0.2) for _ in range(5)]
        found = ratio_of(before, after)
        hits += found is not None and found.contains(2.0)
    assert abs(hits / 600 - 0.95) < 0.032
