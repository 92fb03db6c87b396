from __future__ import annotations

import random

from hypothesis import given, strategies as st

from fitdoctor.analysis.steady import warm_up_length


def test_equal_steps_have_no_warm_up() -> None:
    assert warm_up_length([100.0] * 60) == 0


def test_noise_alone_is_not_called_warm_up() -> None:
    source = random.Random(0)
    cuts = [
        warm_up_length([100 * source.lognormvariate(0, 0.1) for _ in range(200)]) for _ in range(50)
    ]
    # The rule may cut a little noise now and then, but keeps most of the run.
    assert sorted(cuts)[len(cuts) // 2] <= 60


def test_one_late_stall_does_not_make_the_rest_warm_up() -> None:
    durations = [100.0] * 100
    durations[95] = 50_000.0
    assert warm_up_length(durations) == 0


def test_slow_first_steps_are_warm_up() -> None:
    assert warm_up_length([5000.0, 900.0, 300.0, 120.0, 101.0] + [100.0, 101.0] * 50) == 5


def test_few_steps_lose_only_an_outstanding_first_one() -> None:
    assert warm_up_length([1000.0, 100.0, 101.0, 99.0]) == 1
    assert warm_up_length([110.0, 100.0, 101.0, 99.0]) == 0
    assert warm_up_length([]) == 0


@given(st.lists(st.floats(1.0, 1e9), max_size=200))
def test_at_least_half_is_always_kept(durations: list[float]) -> None:
    assert 0 <= warm_up_length(durations) <= max(1, len(durations) // 2 + 5)
