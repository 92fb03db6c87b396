from __future__ import annotations

from typing import Any

import pytest

from casebook.case import load_case
from casebook.diagnose import Diagnosis
from casebook.gain import Gain
from casebook.judge import Judgement, dominant_findings, is_close, judge

HEALTHY = {"expect": '""', "where": '{ file = "slow.py", contains = "" }'}


def report(*workloads: list[dict[str, Any]], verdict: str = "at-ceiling") -> Diagnosis:
    items = [{"kind": "fit", "verdict": verdict, "findings": list(found)} for found in workloads]
    return Diagnosis({"schema": 1, "workloads": items}, seconds=9.0)


def real(ratio: float) -> Gain:
    return Gain(ratio, ratio, ratio, rounds=3)


def reasons(judgement: Judgement) -> str:
    return "; ".join(judgement.reasons)


# Healthy cases: what must not be called right, and what must.


def test_healthy_without_findings_is_right(make_case):
    judgement = judge(make_case(**HEALTHY), report([], []), None)
    assert judgement.is_right
    assert judgement.found == ()
    assert judgement.predicted is None


def test_healthy_with_a_finding_in_any_workload_is_a_false_alarm(make_case, finding):
    judgement = judge(make_case(**HEALTHY), report([], [finding("HO002", 1.06)]), None)
    assert reasons(judgement) == "false alarm: HO002"


def test_healthy_that_was_not_judged_is_not_right(make_case):
    # An empty list because nothing was examined is no verdict.
    judgement = judge(make_case(**HEALTHY), report([], verdict="not-judged"), None)
    assert reasons(judgement) == "not judged"


@pytest.mark.parametrize("expect", ['""', '"IN002"'])
def test_without_a_report_nothing_is_right(make_case, expect):
    case = make_case(expect=expect)
    assert reasons(judge(case, Diagnosis(None, 1.0, "no report"), None)) == "no report"
    assert reasons(judge(case, report(), None)) == "no workload was recorded"


# Slow cases that are right.


def test_expected_finding_at_the_expected_place_with_a_close_gain_is_right(make_case, finding):
    judgement = judge(make_case(), report([finding(ratio=3.0)]), real(3.3))
    assert judgement.is_right
    assert judgement.found == ("IN002",)
    assert judgement.predicted is not None
    assert judgement.predicted.ratio == 3.0


def test_gain_that_was_not_measured_is_not_judged(make_case, finding):
    assert judge(make_case(), report([finding(ratio=99.0)]), None).is_right


def test_allowed_further_finding_is_right(make_case, finding):
    case = make_case(allow='["IN003"]')
    assert judge(case, report([finding(), finding("IN003", 1.2)]), None).is_right


def test_any_line_is_right_where_the_case_names_none(make_case, finding):
    case = make_case(where='{ file = "slow.py", contains = "" }')
    assert judge(case, report([finding(line=999)]), None).is_right
    assert judge(case, report([finding(where=None)]), None).is_right


def test_one_of_several_lines_is_enough(make_case, finding):
    case = make_case(where='{ file = "slow.py", contains = ["read(batch)", "for batch"] }')
    assert judge(case, report([finding(line=2)]), None).is_right


# Slow cases that are wrong, each for its reason.


def test_nothing_found(make_case):
    text = reasons(judge(make_case(), report([]), real(3.0)))
    assert text == "expected IN002, found nothing (at-ceiling)"


def test_wrong_rule_first_is_one_reason_only(make_case, finding):
    # Its place and gain belong to another cause: they are not judged as well.
    judgement = judge(
        make_case(allow='["IN001"]'), report([finding("IN001", 9.0, line=1)]), real(3)
    )
    assert reasons(judgement) == "expected IN002 first, found IN001"


def test_forbidden_rule_in_another_workload(make_case, finding):
    case = make_case(forbid='["IN001"]')
    judgement = judge(case, report([finding()], [finding("IN001", 1.1)]), None)
    assert reasons(judgement) == "IN001 is forbidden"


def test_forbidden_rule_is_named_once(make_case, finding):
    case = make_case(forbid='["IN001"]')
    judgement = judge(case, report([finding(), finding("IN001", 1.1)]), None)
    assert judgement.reasons == ("IN001 is forbidden",)


def test_further_finding_that_is_not_allowed(make_case, finding):
    judgement = judge(make_case(), report([finding(), finding("HO002", 1.1)]), None)
    assert reasons(judgement) == "HO002 is not allowed"


def test_forbidden_words_in_the_cure(make_case, finding):
    case = make_case(forbid_text='["model(x)"]')
    wrong = finding(cure={"safety": "safe", "summary": "call model(x) instead"})
    assert reasons(judge(case, report([wrong]), None)) == "the cure of IN002 says 'model(x)'"


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        (None, "the finding has no place"),
        ({"file": "data.py", "line": 3}, "the finding points to data.py, not to slow.py"),
        ({"file": "slow.py", "line": 1}, "the finding points to line 1 ('import keras')"),
        ({"file": "slow.py", "line": 0}, "the finding points to line 0 ('')"),
    ],
)
def test_wrong_place(make_case, finding, where, reason):
    assert reasons(judge(make_case(), report([finding(where=where)]), None)) == reason


def test_wrong_gain(make_case, finding):
    judgement = judge(make_case(), report([finding(ratio=12.0)]), real(3.3))
    assert reasons(judgement) == "predicted 12.00x, real 3.30x"


def test_no_claim_where_there_is_a_gain(make_case, finding):
    judgement = judge(make_case(), report([finding(gain=None)]), real(3.3))
    assert reasons(judgement) == "no gain predicted, real 3.30x"


def test_a_case_of_several_causes_is_judged_by_the_joint_gain(make_case, finding):
    case = make_case(joint="true", allow='["CB001"]')
    diagnosis = report([finding(ratio=1.9), finding("CB001", 1.8)])
    diagnosis.report["workloads"][0]["joint_gain"] = {"ratio": 5.0, "low": 4.0, "high": 6.0}
    judgement = judge(case, diagnosis, real(5.2))
    assert judgement.is_right
    assert judgement.predicted.ratio == 5.0
    assert reasons(judge(case, diagnosis, real(1.9))) == "predicted 5.00x, real 1.90x"


def test_no_joint_gain_is_no_claim(make_case, finding):
    judgement = judge(make_case(joint="true"), report([finding(ratio=1.9)]), real(1.9))
    assert reasons(judgement) == "no gain predicted, real 1.90x"


def test_the_place_is_looked_up_in_the_script_of_the_other_case(borrow, finding):
    case = load_case(borrow())
    assert judge(case, report([finding()]), None).is_right
    text = reasons(judge(case, report([finding(line=1)]), None))
    assert text == "the finding points to line 1 ('import keras')"


# The dominant workload and the tolerance.


def test_the_workload_with_the_largest_gain_is_judged(finding):
    small, large = [finding("HO002", 1.5)], [finding("IN002", 3.0)]
    workloads = [{"findings": found} for found in ([], small, large)]
    assert dominant_findings(workloads) == large


def test_a_finding_without_a_claim_does_not_dominate(finding):
    silent, claim = [finding("MO002", gain=None)], [finding("IN002", 1.06)]
    assert dominant_findings([{"findings": silent}, {"findings": claim}]) == claim


@pytest.mark.parametrize(
    ("predicted", "actual", "close"),
    [
        (1.29, 1.0, True),
        (1.31, 1.0, False),
        (1.7, 1.99, True),
        (2.3, 1.99, False),  # 0.31 off, although within 30 %
        (2.59, 2.0, True),
        (2.61, 2.0, False),
        (70.0, 100.0, True),
        (131.0, 100.0, False),
    ],
)
def test_tolerance(predicted, actual, close):
    assert is_close(predicted, actual) is close


def test_two_causes_are_named_in_any_order_but_both(make_case, finding):
    case = make_case(joint="true", allow='["CB001"]')
    expected, other = finding(), finding(rule="CB001", ratio=9.0)
    both = report([other, expected])
    both.report["workloads"][0]["joint_gain"] = {"ratio": 5.0, "low": 4.0, "high": 6.0}
    assert judge(case, both, real(5.0)).is_right
    one = judge(case, report([expected]), None)
    assert one.reasons == ("CB001 was not found",)


def test_two_causes_may_lie_in_two_workloads(make_case, finding):
    case = make_case(joint="true", allow='["CB001"]')
    diagnosis = report([finding()])
    only_one = judge(case, diagnosis, None)
    diagnosis.report["workloads"].append({"findings": [finding("CB001", 9.0)], "verdict": "x"})
    assert only_one.reasons == ("CB001 was not found",)
    assert judge(case, diagnosis, real(5.0)).reasons == ("no gain predicted, real 5.00x",)
    diagnosis.report["joint_gain"] = {"ratio": 5.5, "low": 4.0, "high": 6.0}
    both = judge(case, diagnosis, real(5.0))
    assert both.is_right
    assert both.predicted.ratio == 5.5  # of the whole script
