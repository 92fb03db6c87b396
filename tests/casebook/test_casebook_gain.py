from __future__ import annotations

from dataclasses import replace

import pytest

from casebook.case import load_case
from casebook.gain import (
    LEAST_ROUNDS,
    MOST_ROUNDS,
    GainError,
    is_settled,
    measure_rounds,
    ratio_of,
    summarise,
)
from casebook.gain_cache import GainCache, scripts_hash
from casebook.timed import tenths


class FakeMachine:
    """Scripts that take a known time per unit, on a machine that may become slower."""

    def __init__(self, slow_s: float, fixed_s: float, drift: float = 0.0) -> None:
        self.unit_s = {"slow": slow_s, "fixed": fixed_s}
        self.drift = drift
        self.runs: list[str] = []

    def run(self, script: str) -> float:
        self.runs.append(script)
        return self.unit_s[script] * (1 + self.drift * len(self.runs))


def test_equal_scripts_gain_nothing():
    assert measure_rounds(FakeMachine(3.0, 3.0).run).ratio == 1.0


@pytest.mark.parametrize(("slow_s", "fixed_s"), [(0.0, 1.0), (1.0, 0.0), (-0.2, 1.0)])
def test_noise_that_left_no_time_is_no_ratio(slow_s, fixed_s):
    assert ratio_of(slow_s, fixed_s) is None


def test_no_ratio_at_all_is_an_error():
    with pytest.raises(GainError):
        summarise([])
    with pytest.raises(GainError):
        measure_rounds(FakeMachine(1.0, 0.0).run)


@pytest.mark.parametrize("factor", [0.5, 1.2, 100.0])
def test_gain_of_any_size_is_found(factor):
    assert measure_rounds(FakeMachine(factor, 1.0).run).ratio == pytest.approx(factor)


def test_the_order_changes_from_round_to_round_so_that_drift_falls_on_both():
    machine = FakeMachine(2.0, 1.0, drift=0.02)
    found = measure_rounds(machine.run)
    assert machine.runs[:4] == ["slow", "fixed", "fixed", "slow"]
    assert found.ratio == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize(
    ("ratios", "settled"),
    [([], False), ([2.0], False), ([2.0, 2.2], True), ([2.0, 3.0], False)],
)
def test_settled(ratios, settled):
    assert is_settled(ratios) is settled


def test_rounds_that_do_not_agree_come_to_an_end():
    times = iter([1.0, 1.0, 1.0, 2.0] * 10)
    found = measure_rounds(lambda script: next(times))
    assert LEAST_ROUNDS <= found.rounds <= MOST_ROUNDS


def test_scales_are_whole_tenths():
    assert tenths(0.31) == 0.3


def test_no_file_is_no_gain(make_case, tmp_path):
    assert GainCache(tmp_path / "gains.json").get(make_case()) is None


def test_gain_is_kept_until_a_script_changes(make_case, tmp_path):
    case, cache = make_case(), GainCache(tmp_path / "gains.json")
    gain = summarise([2.0, 2.1, 2.2])
    cache.put(case, gain)
    assert cache.get(case) == gain
    case.fixed.write_text("import keras  # changed\n")
    assert cache.get(case) is None


def test_scripts_that_leave_the_backend_open_have_a_gain_for_each(borrow):
    hashes = {scripts_hash(load_case(borrow(backend=name))) for name in ("jax", "torch")}
    assert len(hashes) == 2


def test_scripts_that_name_their_backend_are_all_that_counts(borrow):
    folder = borrow().parent / "C01"
    for name in ("slow.py", "fixed.py"):
        path = folder / name
        path.write_text('import os\nos.environ["KERAS_BACKEND"] = "jax"\n' + path.read_text())
    # The fixture writes the open scripts anew, so only the backend field is changed here.
    case = load_case(folder.parent / "C01_other")
    assert scripts_hash(case) == scripts_hash(replace(case, backend="torch"))
