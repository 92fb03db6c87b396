"""Which width a finding gets: the rule's own, or that of all rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.findings.finding import Cure, Finding, Scored
from fitdoctor.intervals import Interval
from fitdoctor.pricing.calibration import Group, calibrated, joint_width, width_of
from fitdoctor.report.gain_words import scored_words

TABLE = {
    ("", ""): Group(200, 0.6),
    ("IN001", ""): Group(25, 0.7),
    ("IN001", "tried"): Group(20, 0.2),
    ("HO001", ""): Group(4, None),
}


def finding(rule: str = "MO002", **more: object) -> Finding:
    made = Finding(rule, "x", None, "", Interval.exact(2.0), Cure("safe", ""))
    return replace(made, **more)  # type: ignore[arg-type]


def test_a_bound_stays_as_it_is() -> None:
    bound = finding(how="bound", gain=Interval(2.0, 1.0, 2.0))
    assert calibrated(bound) == bound
    assert scored_words(bound) == ""


def test_a_rule_with_few_cases_gets_the_width_of_all_and_says_so() -> None:
    width = width_of("HO001", "modelled", TABLE)
    assert (width.half, width.cases, width.of_rule) == (0.6, 4, False)
    words = scored_words(finding("HO001", scored=Scored(4, of_rule=False)))
    assert "only 4 scored cases of HO001" in words


def test_a_rule_that_was_never_scored_has_no_cases() -> None:
    assert width_of("EN010", "tried", TABLE).cases == 0


def test_the_own_width_of_the_same_kind_comes_first() -> None:
    assert width_of("IN001", "tried", TABLE).half == 0.2
    assert width_of("IN001", "modelled", TABLE).half == 0.7


def test_a_script_that_ran_is_not_judged_by_what_models_got_wrong_for_its_rule() -> None:
    assert width_of("IN001", "script", TABLE).half == 0.6
    with_scripts = {**TABLE, ("", "script"): Group(10, 0.1)}
    found = width_of("IN001", "script", with_scripts)
    assert (found.half, found.kind, found.of_rule) == (0.1, "script", False)


def test_every_cure_of_a_finding_is_calibrated() -> None:
    other = finding()
    found = calibrated(finding(partly=other, also=(other,)))
    for one in (found, found.partly, *found.also):
        assert one is not None
        assert one.scored is not None
        assert one.gain.low < 2.0 < one.gain.high


def test_a_gain_that_is_calibrated_twice_is_no_wider() -> None:
    once = calibrated(finding())
    assert calibrated(once) == once


def test_several_cures_of_one_rule_are_that_rule() -> None:
    one, other = finding("IN001"), finding("HO004")
    assert joint_width([one, one]) == width_of("IN001", "modelled")
    assert joint_width([one, other]).of_rule is False


def test_without_any_case_there_is_nothing_to_say() -> None:
    with pytest.raises(ValueError, match="all rules"):
        width_of("IN001", "tried", {})
