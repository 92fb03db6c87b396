"""When the measurement stops, what it refuses, and what it says; on synthetic runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from fitdoctor.proof.equivalence import Equivalence, not_checked
from fitdoctor.proof.measure import measure
from fitdoctor.proof.measured import Limits, Measured
from fitdoctor.proof.proof_verdict import judge
from proof.runs import MS, FakeSides, timeline

LIMITS = Limits(precision=0.05, budget_s=1000, max_runs=20, window_s=10)
SAME = Equivalence("identical", "bitwise", "")


def measured(sides: FakeSides, limits: Limits = LIMITS) -> Measured:
    return measure(sides.run, limits, clock=sides.clock)


def verdict(sides: FakeSides, equivalence: Equivalence = SAME, **choices: bool) -> tuple[str, str]:
    return judge(measured(sides), equivalence, may_differ=choices.get("may_differ", False))


# -- what must not be proven ---------------------------------------------------------


def test_equal_sides_are_not_proven() -> None:
    name, reason = verdict(FakeSides(20 * MS, 20 * MS, noise=0.02))
    assert name == "not-proven"
    assert "includes 1" in reason


def test_equal_sides_are_rarely_called_different() -> None:
    # 5 % for both sides together: of 60 seeded trials at most 9 (chance beyond: below 0.2 %).
    names = [verdict(FakeSides(20 * MS, 20 * MS, noise=0.05, seed=s))[0] for s in range(60)]
    assert sum(name != "not-proven" for name in names) <= 9


def test_a_gain_within_the_noise_is_not_proven() -> None:
    assert verdict(FakeSides(20.4 * MS, 20 * MS, noise=0.2, seed=3))[0] == "not-proven"


def test_slower_is_called_slower() -> None:
    name, reason = verdict(FakeSides(20 * MS, 30 * MS, noise=0.01))
    assert name == "slower"
    assert "slower" in reason


@pytest.mark.parametrize("run", [1, 2, 4])
def test_a_failing_run_makes_all_invalid(run: int) -> None:
    sides = FakeSides(
        20 * MS,
        5 * MS,
        change=lambda number, side: {"failure": "B failed: boom"} if number == run else {},
    )
    found = measured(sides)
    assert judge(found, SAME, may_differ=False)[0] == "invalid"
    assert "boom" in found.invalid
    assert found.incomparable


def test_a_different_number_of_steps_is_invalid() -> None:
    name, reason = verdict(FakeSides(20 * MS, 5 * MS, own_steps={"A": 100, "B": 90}))
    assert name == "invalid"
    assert "A did 100, B did 90" in reason


def test_one_side_ending_early_is_invalid() -> None:
    # A is cut by the window at 500 steps; B comes to its end after 90.
    name, reason = verdict(FakeSides(20 * MS, 5 * MS, own_steps={"B": 90}))
    assert name == "invalid"
    assert "number of steps" in reason


def test_a_busy_machine_is_invalid_and_says_so() -> None:
    sides = FakeSides(20 * MS, 5 * MS, change=lambda number, side: {"disturbed": 0.9})
    name, reason = verdict(sides)
    assert name == "invalid"
    assert "other processes" in reason
    assert len(sides.order) < 20


def test_too_few_steps_are_invalid() -> None:
    name, reason = verdict(FakeSides(20 * MS, 5 * MS, own_steps={"A": 4, "B": 4}))
    assert name == "invalid"
    assert "4 steps" in reason


def test_too_few_runs_are_invalid() -> None:
    sides = FakeSides(20 * MS, 5 * MS)
    found = measure(sides.run, Limits(max_runs=4, window_s=10), clock=sides.clock)
    assert "2 pairs" in found.invalid
    assert not found.incomparable
    assert found.ratio is None


def test_faster_but_learning_differently_is_not_proven_unless_asked_for() -> None:
    different = Equivalence("identical", "different", "loss differs from step 3 on")
    name, reason = verdict(FakeSides(20 * MS, 5 * MS, noise=0.01), different)
    assert name == "not-proven"
    assert "loss differs from step 3 on" in reason
    sides = FakeSides(20 * MS, 5 * MS, noise=0.01)
    assert verdict(sides, different, may_differ=True)[0] == "proven"


# -- what must be proven -------------------------------------------------------------


def test_a_clear_gain_is_proven_and_stops_early() -> None:
    sides = FakeSides(20 * MS, 5 * MS, noise=0.01)
    found = measured(sides)
    assert judge(found, SAME, may_differ=False)[0] == "proven"
    assert found.ratio is not None and found.ratio.contains(4.0)
    assert len(sides.order) <= 10


def test_learning_that_could_not_be_checked_does_not_hide_the_gain() -> None:
    sides = FakeSides(20 * MS, 5 * MS, noise=0.01)
    assert verdict(sides, not_checked("no batch could be seen"))[0] == "proven"


def test_the_sides_alternate() -> None:
    sides = FakeSides(20 * MS, 10 * MS, noise=0.2)
    measured(sides)
    assert "".join(sides.order).startswith("ABBAABBA")


def test_a_disturbed_pair_is_repeated() -> None:
    sides = FakeSides(
        20 * MS, 5 * MS, noise=0.01, change=lambda n, _: {"disturbed": 0.9} if n == 3 else {}
    )
    found = measured(sides)
    assert found.disturbed_pairs == 1
    assert found.ratio is not None and found.ratio.contains(4.0)


def test_a_side_that_is_much_slower_is_compared_over_the_steps_it_did() -> None:
    found = measured(FakeSides(1 * MS, 100 * MS, noise=0.01))
    assert not found.invalid
    assert found.steps < 1000
    assert found.ratio is not None and found.ratio.high < 0.02


def test_start_up_counts_in_the_whole_time_only() -> None:
    found = measured(FakeSides(20 * MS, 5 * MS, noise=0.001))
    assert found.whole is not None and found.ratio is not None
    # 500 steps: (5 + 10) s against (5 + 2.5) s.
    assert found.whole.value == pytest.approx(2.0, rel=0.05)
    assert found.ratio.value == pytest.approx(4.0, rel=0.02)


@settings(max_examples=20, deadline=None)
@given(st.floats(min_value=1.3, max_value=50), st.integers(min_value=0, max_value=10_000))
def test_a_real_gain_lies_in_or_near_its_interval(gain: float, seed: int) -> None:
    found = measured(FakeSides(20 * MS, 20 * MS / gain, noise=0.01, seed=seed))
    assert found.ratio is not None
    assert found.ratio.low * 0.95 <= gain <= found.ratio.high * 1.05


# -- timelines -----------------------------------------------------------------------


def test_time_between_steps_is_interpolated() -> None:
    line = timeline(10, 2.0)
    assert line.time_at(0) == 0
    assert line.time_at(10) == 20
    assert line.time_at(5) == 10
    with pytest.raises(ValueError, match="10 steps"):
        line.time_at(11)


@given(st.integers(1, 60), st.integers(1, 10**6), st.integers(0, 5))
def test_steps_follow_each_other_and_fill_the_run(steps: int, step_ns: int, warm_up: int) -> None:
    line = timeline(steps, step_ns, warm_up=warm_up)
    times = [line.time_at(step) for step in range(steps + 1)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (line.spans[0].begin_ns, line.spans[-1].end_ns)


def test_warm_up_is_left_out_on_both_sides() -> None:
    sides = FakeSides(20 * MS, 5 * MS, noise=0.001)
    original = sides.run

    def run(side: str, steps: int | None, seconds: float):  # type: ignore[no-untyped-def]
        observed = original(side, steps, seconds)
        assert observed.timeline is not None
        slow = timeline(observed.timeline.steps, sides.times[side], warm_up=30)
        return type(observed)(slow, observed.launched_ns, observed.ended_by_us)

    found = measure(run, LIMITS, clock=sides.clock)
    assert found.warm_up >= 30
    assert found.ratio is not None and found.ratio.value == pytest.approx(4.0, rel=0.01)
