"""Not proven since nothing changed: why there was nothing to try, and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cures.cured import diagnosis, finding
from fitdoctor.cures.patch import Declined, Kind, Patch
from fitdoctor.findings.edits import DropKeyword
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.proof.cured import Examined
from fitdoctor.proof.equivalence import not_checked
from fitdoctor.proof.measured import Measured
from fitdoctor.proof.nothing_to_try import nothing_to_try
from fitdoctor.proof.proof_verdict import Proof
from fitdoctor.proof.side import Side
from fitdoctor.report.proof import render_proof
from synthetic import recording

EDIT = DropKeyword(Where("/user/train.py", 88), "compile", "run_eagerly")


def nothing(kind: Kind | None, *found: Finding) -> tuple[str, tuple[str, ...]]:
    examined = Examined(Side("A", "train.py"), diagnosis(*found), recording())
    declined = () if kind is None else tuple(Declined(one, kind, "so it is") for one in found)
    return nothing_to_try(examined, Patch({}, (), declined))


def test_nothing_found_points_to_where_the_time_goes() -> None:
    reason, advice = nothing(None)
    assert "no cause of slowness was found" in reason
    assert advice == ("fitdoctor report -v shows where the time goes",)


@pytest.mark.parametrize(("kind", "option"), [("unsafe", "--unsafe"), ("packs", "--pack FOLDER")])
def test_what_an_option_would_allow_is_named(kind: Kind, option: str) -> None:
    reason, advice = nothing(kind, finding(EDIT))
    assert "HO002: so it is" in reason
    assert len(advice) == 1 and advice[0].startswith(option)


def test_what_is_to_be_done_by_hand_is_said_with_the_proof_after_it() -> None:
    by_hand = replace(finding(rule="HO005"))
    _, advice = nothing("advice", by_hand)
    assert advice == ("HO005: do it another way", "then: fitdoctor prove train.py CHANGED.py")
    _, advice = nothing("declined", finding(EDIT))
    assert advice[0].startswith("HO002: train.py:88: ")


def test_the_screen_shows_no_comparison_that_was_not_made() -> None:
    proof = Proof(
        "not-proven", "why", Measured(), not_checked("nothing changed"), advice=("do it",)
    )
    text = render_proof(proof)
    assert text == "Not proven: why\n  do        do it\n"
    assert proof.to_json()["do"] == ["do it"]
