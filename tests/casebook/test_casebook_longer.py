from __future__ import annotations

from argparse import Namespace

import pytest

import casebook.__main__ as command
from casebook.diagnose import Diagnosis
from casebook.gain import Gain
from casebook.judge import Judgement, Predicted
from casebook.longer import middle, pooled


def judged(ratio: float | None) -> Judgement:
    claim = None if ratio is None else Predicted(ratio, ratio - 1, ratio + 1)
    return Judgement(("IN002",), claim, ())


def test_rounds_weigh() -> None:
    both = pooled(Gain(2.0, 1.5, 2.5, 3), Gain(4.0, 3.0, 5.0, 1))
    assert both.ratio == pytest.approx(2 * 2**0.25)
    assert (both.low, both.high, both.rounds) == (1.5, 5.0, 4)


def test_the_median_of_all_predictions() -> None:
    assert middle([judged(2.0), judged(9.0), judged(3.0)]) == Predicted(3.0, 2.0, 4.0)


def test_no_claim_is_not_left_out() -> None:
    assert middle([judged(2.0), judged(None)]) is None


class Fake:
    """Diagnoses with one prediction after the other, and real gains."""

    def __init__(self, monkeypatch, ratios, gains, rule="IN002"):
        self.ratios, self.gains, self.rule = list(ratios), list(gains), rule
        monkeypatch.setattr(command, "diagnose", self.diagnose)
        monkeypatch.setattr(command, "measure_gain", lambda case, rounds: self.gain())
        monkeypatch.setattr(command.GainCache, "get", lambda cache, case: None)
        monkeypatch.setattr(command.GainCache, "put", lambda cache, case, gain: None)

    def diagnose(self, case, **_):
        ratio = self.ratios.pop(0)
        rule = self.rule if isinstance(ratio, float) else ratio
        ratio = ratio if isinstance(ratio, float) else 3.0
        where = {"file": "slow.py", "line": 1}
        gain = {"ratio": ratio, "low": ratio, "high": ratio}
        finding = {"rule": rule, "where": where, "gain": gain, "cure": {"summary": ""}}
        return Diagnosis({"workloads": [{"findings": [finding], "verdict": "x"}]}, 1.0)

    def gain(self):
        ratio = self.gains.pop(0)
        return Gain(ratio, ratio, ratio, 1)


OPTIONS = Namespace(keep=None, kept=None, budget=None, no_gain=False, fresh=True, rounds=1)


@pytest.fixture
def case(make_case):
    return make_case(where='{ file = "slow.py" }')


def test_a_gain_that_fits_is_measured_once(monkeypatch, case):
    fake = Fake(monkeypatch, [3.0], [3.1])
    assert command.examine(case, OPTIONS).judgement.is_right
    assert fake.ratios == fake.gains == []


def test_noise_is_measured_away(monkeypatch, case):
    Fake(monkeypatch, [6.0, 3.0, 3.2], [3.0, 3.1])
    assert command.examine(case, OPTIONS).judgement.is_right


def test_a_wrong_price_stays_wrong(monkeypatch, case):
    Fake(monkeypatch, [6.0, 6.2, 5.9], [3.0, 3.1])
    found = command.examine(case, OPTIONS).judgement
    assert found.reasons == ("predicted 6.00x, real 3.05x",)


def test_a_cause_that_comes_and_goes_is_wrong(monkeypatch, case):
    Fake(monkeypatch, [6.0, "IN001", 3.0], [3.0, 3.1])
    assert not command.examine(case, OPTIONS).judgement.is_right


def test_kept_recordings_are_judged_without_a_run(case, monkeypatch, tmp_path) -> None:
    fake = Fake(monkeypatch, [9.0, 2.0, 2.2], [])
    monkeypatch.setattr(command, "diagnose_kept", lambda case, kept: fake.diagnose(case))
    monkeypatch.setattr(command.GainCache, "get", lambda cache, case: Gain(2.0, 1.9, 2.1, 1))
    for number in (2, 3):
        (tmp_path / f"again{number}" / case.id).mkdir(parents=True)
    options = Namespace(**{**vars(OPTIONS), "kept": tmp_path})
    outcome = command.examine(case, options)
    assert outcome.judgement.is_right
    assert outcome.judgement.predicted.ratio == 2.2


def test_a_case_that_was_not_kept_is_not_right(case, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(command.GainCache, "get", lambda cache, case: None)
    options = Namespace(**{**vars(OPTIONS), "kept": tmp_path})
    outcome = command.examine(case, options)
    assert not outcome.judgement.is_right
    assert "no recording was kept" in " ".join(outcome.judgement.reasons)
