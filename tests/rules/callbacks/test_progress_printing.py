from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.step import ProgressBar
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.callbacks.progress_printing import RULE
from synthetic import MS, call_group, fit_workload, timed, view


def bar(with_bar: float) -> ProgressBar:
    return ProgressBar(without_bar=timed(Timed, MS), with_bar=timed(Timed, with_bar))


def printing(with_bar: float, *, period: int = 2 * MS):
    return view(fit_workload(period=period, step=MS, found=[bar(with_bar)]))


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_silent_where_the_bar_costs_nothing() -> None:
    assert RULE.detect(printing(1.03 * MS)) is None


def test_silent_where_steps_are_long() -> None:
    assert RULE.detect(printing(1.6 * MS, period=50 * MS)) is None


def test_silent_on_a_group_of_calls() -> None:
    assert RULE.detect(view(call_group(kind="fit", found=[bar(1.6 * MS)]))) is None


def test_the_measured_difference() -> None:
    finding = RULE.detect(printing(1.6 * MS))
    assert finding is not None
    assert finding.gain.value == pytest.approx(2 / 1.4, rel=0.05)
    assert finding.cure.safety == "safe"
    where = Where("/user/train.py", 88)
    assert finding.cure.edits == (SetKeyword(where, "fit", "verbose", "2"),)


def test_steps_started_together_print_together() -> None:
    assert RULE.explained_by == {"HO002", "HO004"}


def test_the_page_says_which_gain_counts() -> None:
    assert f"at least {100 * (WORTH_GAIN - 1):.3g} % faster" in RULE.page
