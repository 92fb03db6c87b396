from __future__ import annotations

import json

import pytest

from casebook.gain import Gain
from casebook.judge import Judgement, Predicted
from casebook.outcome import Outcome, count_right, median_error, to_json
from casebook.table import row, summary, wrong_lines
from fitdoctor.contract.records import Accelerator, Machine


@pytest.fixture
def outcome(make_case):
    def make(predicted=3.0, real=4.0, found="IN002", reasons=()):
        claim = Predicted(predicted, predicted, predicted) if predicted else None
        gain = Gain(real, real, real, 3) if real else None
        return Outcome(make_case(), Judgement((found,), claim, reasons), gain, verdict_s=21.4)

    return make


def test_nothing_compared_is_not_an_error_of_zero(outcome):
    assert median_error([]) is None
    assert median_error([outcome(real=None), outcome(predicted=None)]) is None
    assert "not measured" in summary([outcome(real=None)])


def test_gain_of_another_cause_is_not_compared(outcome):
    assert outcome(found="IN001").gain_error is None


def test_median_is_over_absolute_errors(outcome):
    outcomes = [outcome(3.0, 4.0), outcome(6.0, 4.0), outcome(4.0, 4.0)]
    assert median_error(outcomes) == pytest.approx(0.25)


def test_count_and_row(outcome):
    right, wrong = outcome(), outcome(reasons=("too slow", "too late"))
    assert count_right([right, wrong]) == 1
    assert row(right) == (
        "C01", "IN002", "IN002", "3.00x (3.00-3.00)", "4.00x (4.00-4.00)", "-25%", "21 s", "right",
    )  # fmt: skip
    assert row(wrong)[-1] == "wrong"
    assert wrong_lines([right, wrong]) == ["C01 wrong: too slow; too late"]
    assert summary([right, wrong]).endswith("1 of 2 right")


def test_json_is_complete(outcome):
    data = json.loads(json.dumps(to_json([outcome(), outcome(real=None, reasons=("why",))])))
    assert (data["right"], data["total"]) == (1, 2)
    assert data["cases"][0]["relative_error"] == pytest.approx(-0.25)
    assert data["cases"][1]["real"] is None
    assert data["cases"][1]["reasons"] == ["why"]


def test_a_case_that_could_not_run_here_is_neither_right_nor_wrong(outcome, make_case):
    skipped = Outcome(make_case(needs='"gpu"'), Judgement((), None, ()), None, 0.0, "needs a GPU")
    report = to_json([outcome(), skipped])
    assert (report["right"], report["total"], report["skipped"]) == (1, 1, 1)
    assert report["cases"][1]["skipped"] == "needs a GPU"
    assert row(skipped)[-1] == "skipped: needs a GPU"
    assert summary([outcome(), skipped]).endswith("1 of 1 right, 1 skipped")


def test_a_machine_without_a_gpu_skips_what_needs_one(make_case, monkeypatch):
    from argparse import Namespace

    import casebook.__main__ as command

    monkeypatch.setattr(command, "describe_machine", Machine)
    found = command.examine(make_case(needs='"gpu"'), Namespace())
    assert found.skipped == "needs a GPU"


def test_what_a_case_needs(make_case):
    import casebook.__main__ as command

    assert command.missing_here(make_case(), Machine()) == ""
    assert command.missing_here(make_case(needs='"gpu"'), Machine()) == "needs a GPU"
    with_gpu = Machine(accelerators=(Accelerator(),))
    assert command.missing_here(make_case(needs='"gpu"'), with_gpu) == ""
