"""A trial takes the place of an estimate, for the very edits that ran."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.cure_trial import CureTrial
from fitdoctor.diagnosis.tried import with_trials
from fitdoctor.findings.edits import DropKeyword, SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from synthetic import MS, fit_workload, view

AT = Where("/user/train.py", 12)
EDITED = Cure("safe", "set it", (SetKeyword(AT, "compile", "jit_compile", "False"),))
OTHER = Cure("unsafe", "drop it", (DropKeyword(AT, "compile", "run_eagerly"),))


def finding(cure: Cure = EDITED, **more: object) -> Finding:
    saves = {"step": Interval(4 * MS, 3 * MS, 5 * MS), "callbacks": Interval.exact(1 * MS)}
    made = Finding("HO004", "x", None, "", Interval(2.0, 1.6, 2.6), cure, saves=saves)
    return replace(made, **more)  # type: ignore[arg-type]


def tried(edits: Cure, after_ns: float, found: Finding) -> Finding:
    trial = CureTrial(
        edits=edits.fingerprint, before_ns=10 * MS, after_ns=after_ns, steps=400, pairs=0
    )
    workload = fit_workload(found=[("HO004", trial)])
    (result,) = with_trials(view(workload), [found])
    return result


def test_without_a_trial_nothing_changes() -> None:
    assert with_trials(view(fit_workload()), [finding()]) == [finding()]


@pytest.mark.parametrize(
    "found",
    [
        finding(OTHER),  # other edits than those that ran
        finding(Cure("advice", "rewrite it")),  # nothing ran for it
        finding(scope="run"),  # a trial sees steps
        finding(rule="IN001"),  # of another rule
    ],
)
def test_a_trial_says_nothing_about_anything_else(found: Finding) -> None:
    assert tried(EDITED, 2.5 * MS, found) == found


def test_what_ran_is_the_gain() -> None:
    found = tried(EDITED, 2.5 * MS, finding())
    assert (found.gain.value, found.how, found.script_ran) == (4.0, "tried", True)
    assert found.gain_to_json()["trial"] == "script"


def test_the_savings_of_the_parts_follow_the_gain() -> None:
    found = tried(EDITED, 2.5 * MS, finding())
    # Half of a step was to go, and three quarters did.
    assert found.saves["step"].value == pytest.approx(6 * MS)
    assert found.saves["callbacks"].value == pytest.approx(1.5 * MS)


def test_the_cause_stays_where_its_edit_did_not_help() -> None:
    found = tried(EDITED, 11 * MS, finding())
    assert found.how == "bound"
    # 5 of 10 ms were to go, and nobody knows another way yet.
    assert found.gain.value == pytest.approx(2.0)
    assert found.gain.low == 1.0
    assert found.cure.edits == ()
    assert "without gain" in found.cure.summary
    assert EDITED.summary in found.cure.summary
    assert all(saved.low == 0.0 for saved in found.saves.values())


def test_what_did_not_help_is_not_offered_beside_a_rewrite() -> None:
    advice = Cure("advice", "rewrite it")
    whole = finding(advice, partly=finding(EDITED), also=(finding(OTHER), finding(EDITED)))
    found = tried(EDITED, 11 * MS, whole)
    assert found.partly is None
    assert [one.cure for one in found.also] == [OTHER]
    assert found.cure == advice


def test_of_several_cures_the_one_that_ran_is_changed() -> None:
    whole = finding(
        Cure("advice", "rewrite it"), partly=finding(EDITED), also=(finding(OTHER), finding())
    )
    found = tried(EDITED, 2.5 * MS, whole)
    assert found.how == "modelled"
    assert found.partly is not None and found.partly.gain.value == 4.0
    assert [one.how for one in found.also] == ["modelled", "tried"]
