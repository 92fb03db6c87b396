"""What ships with the package is what the history says, and no prediction judges itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.calibration import files, widths
from benchmarks.calibration_tables import coverage
from benchmarks.scored_history import Scored, history, unseen

EXAMPLE = Scored(
    source="cures",
    case="S01",
    rule="IN001",
    how="modelled",
    backend="tensorflow",
    predicted=2.0,
    low=1.9,
    high=2.1,
    proven=2.2,
    commit="abc1234",
    date="2026-11-19",
    machine="2 cores",
)


def many(count: int, **more: object) -> list[Scored]:
    return [replace(EXAMPLE, case=f"S{n:02}", **more) for n in range(count)]  # type: ignore[arg-type]


@pytest.mark.parametrize("path", files(history(), unseen()), ids=lambda path: path.name)
def test_the_files_are_up_to_date(path) -> None:
    made = files(history(), unseen())[path]
    assert path.read_text(encoding="utf-8") == made, "make calibration"


def test_every_row_has_its_commit_date_and_machine() -> None:
    for one in history():
        assert "unknown" not in (one.commit, one.date, one.machine), one.case


def test_a_script_does_not_judge_itself() -> None:
    """Ten equal predictions and one that was far off: its own width would hold it."""
    scored = [*many(19), replace(EXAMPLE, case="X", proven=100.0)]
    alone = replace(EXAMPLE, case="X_torch", proven=100.0)
    rows = {row["name"]: row for row in coverage([*scored, alone])}
    assert rows["IN001"]["inside"]["90%"] == round(19 / 21, 3)


def test_too_few_to_say_anything_is_not_zero() -> None:
    (row, *_) = coverage(many(3))
    assert row["inside"]["90%"] is None
    assert row["inside"]["50%"] == 1.0


def test_a_rule_gets_its_own_width_from_enough_cases_on() -> None:
    few = {(one["rule"], one["how"]): one["half_width"] for one in widths(many(18))}
    assert few["IN001", "modelled"] is None
    assert few["", "modelled"] is not None
    enough = {(one["rule"], one["how"]): one["half_width"] for one in widths(many(19))}
    assert enough["IN001", "modelled"] == pytest.approx(EXAMPLE.score, abs=1e-4)


def test_scripts_that_ran_are_no_part_of_the_others() -> None:
    groups = widths([*many(20), *many(20, how="script", proven=2.0)])
    assert {one["cases"] for one in groups} == {20}
