from __future__ import annotations

import itertools

import pytest

from casebook.gain import (
    BUDGET_S,
    EXTRA_TRAINING_S,
    LARGEST_EXTRA,
    LEAST_ROUNDS,
    MOST_ROUNDS,
    GainError,
    choose_extra,
    is_settled,
    measure_run_gain,
    measure_step_gain,
    ratio_of,
    summarise,
    whole_tenths,
)
from casebook.gain_cache import GainCache


class FakeMachine:
    """Scripts whose wall time is start-up plus a rate, on a clock that only they move."""

    def __init__(self, slow_s: float, fixed_s: float, startup_s: float = 6.0) -> None:
        self.unit_s = {"slow": slow_s, "fixed": fixed_s}
        self.startup_s = startup_s
        self.now_s = 0.0
        self.runs: list[tuple[str, float]] = []
        self.drift_per_run = 0.0

    def run(self, script: str, scale: float) -> float:
        speed = 1.0 + self.drift_per_run * len(self.runs)
        self.runs.append((script, scale))
        seconds = speed * (self.startup_s + self.unit_s[script] * scale)
        self.now_s += seconds
        return seconds

    def clock(self) -> float:
        return self.now_s


# What must not be called a gain.


def test_equal_scripts_gain_nothing():
    machine = FakeMachine(slow_s=20, fixed_s=20)
    gain = measure_step_gain(machine.run, clock=machine.clock)
    assert gain.ratio == pytest.approx(1.0)


def test_startup_is_no_part_of_the_gain():
    machine = FakeMachine(slow_s=20, fixed_s=5, startup_s=60)
    assert measure_step_gain(machine.run, clock=machine.clock).ratio == pytest.approx(4.0)


@pytest.mark.parametrize(("slow_s", "fixed_s"), [(0.0, 1.0), (1.0, 0.0), (-1.0, -1.0)])
def test_noise_that_left_no_time_is_no_ratio(slow_s, fixed_s):
    assert ratio_of(slow_s, fixed_s) is None


def test_no_ratio_at_all_is_an_error():
    with pytest.raises(GainError):
        summarise([])


def test_training_that_costs_nothing_is_an_error_and_ends():
    machine = FakeMachine(slow_s=0, fixed_s=0)
    with pytest.raises(GainError):
        measure_step_gain(machine.run, clock=machine.clock, budget_s=10_000)


# What must be found.


@pytest.mark.parametrize("factor", [1.3, 3.3, 12, 160])
def test_gain_of_any_size_is_found(factor):
    machine = FakeMachine(slow_s=40, fixed_s=40 / factor)
    gain = measure_step_gain(machine.run, clock=machine.clock)
    assert gain.ratio == pytest.approx(factor)
    assert gain.rounds == LEAST_ROUNDS


def test_drift_of_the_machine_falls_on_both():
    machine = FakeMachine(slow_s=40, fixed_s=20, startup_s=0)
    machine.drift_per_run = 0.005
    assert measure_step_gain(machine.run, clock=machine.clock).ratio == pytest.approx(2.0, rel=0.05)


def test_run_gain_leaves_out_the_import():
    machine = FakeMachine(slow_s=20, fixed_s=10, startup_s=6)
    assert measure_run_gain(machine.run, startup_s=6.0).ratio == pytest.approx(2.0)


def test_order_is_mirrored_from_round_to_round():
    machine = FakeMachine(slow_s=40, fixed_s=40)
    measure_step_gain(machine.run, clock=machine.clock)
    rounds = [script for script, _ in machine.runs[-4 * LEAST_ROUNDS :]]
    assert rounds[:4] == ["slow", "fixed", "fixed", "slow"]
    assert rounds[4:8] == ["fixed", "slow", "slow", "fixed"]


# When to stop.


@pytest.mark.parametrize(
    ("ratios", "settled"),
    [
        ([2.0, 2.0], False),  # too few
        ([2.0, 2.1, 2.2], True),
        ([2.0, 2.1, 2.9], False),
        ([2.0, 2.1, 2.1, 2.9], False),
        ([1.0, 2.0, 2.1, 2.1, 9.0], True),  # one disturbed round at each end
    ],
)
def test_settled(ratios, settled):
    assert is_settled(ratios) is settled


def test_budget_ends_a_measurement_that_does_not_settle():
    machine = FakeMachine(slow_s=40, fixed_s=20)
    noise = itertools.cycle([1.0, 3.0, 1.5, 4.0, 2.0])

    def noisy(script: str, scale: float) -> float:
        return machine.run(script, scale) * next(noise)

    gain = measure_step_gain(noisy, clock=machine.clock, budget_s=BUDGET_S)
    assert gain.rounds <= MOST_ROUNDS
    assert gain.low <= gain.ratio <= gain.high


# The scales.


@pytest.mark.parametrize(
    ("scale", "expected"), [(0.0, 0.1), (0.1, 0.1), (0.30000000000000004, 0.3), (0.31, 0.4), (2, 2)]
)
def test_scales_are_whole_tenths(scale, expected):
    assert whole_tenths(scale) == expected


def test_extra_scale_gives_enough_training():
    machine = FakeMachine(slow_s=40, fixed_s=0.5)
    for script in ("slow", "fixed"):
        extra = choose_extra(machine.run, script)
        assert extra * machine.unit_s[script] >= EXTRA_TRAINING_S * 0.99


def test_extra_scale_has_a_limit():
    machine = FakeMachine(slow_s=40, fixed_s=1e-6)
    assert choose_extra(machine.run, "fixed") == LARGEST_EXTRA


# The cache.


def test_no_file_is_no_gain(make_case, tmp_path):
    assert GainCache(tmp_path / "gains.json").get(make_case()) is None


def test_gain_is_kept_until_a_script_changes(make_case, tmp_path):
    case, cache = make_case(), GainCache(tmp_path / "gains.json")
    gain = summarise([2.0, 2.1, 2.2])
    cache.put(case, gain)
    assert cache.get(case) == gain
    case.fixed.write_text("import keras  # changed\n")
    assert cache.get(case) is None
