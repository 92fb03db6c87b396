from __future__ import annotations

from benchmarks.same_against_same import CASES, ROOT, score, still_to_do
from casebook.case import load_all


def row(case: str, number: int, *, busy: bool = False, commit: str = "abc") -> dict[str, object]:
    found = {"case": case, "number": number, "busy": busy, "commit": commit}
    return {**found, "verdict": "not-proven"}


def test_what_has_a_row_of_this_commit_is_not_run_again() -> None:
    rows = [row("A", 0), row("B", 0, busy=True), row("A", 1, commit="old")]
    assert list(still_to_do(rows, ["A", "B"], 2, False, "abc")) == [("B", 0), ("A", 1), ("B", 1)]


def test_commits_and_loads_are_scored_apart() -> None:
    lines = score([row("A", 0), row("A", 1), row("A", 0, busy=True), row("A", 0, commit="old")])
    assert [line.split(":")[0] for line in lines] == [
        "abc alone",
        "abc beside a busy process",
        "old alone",
    ]
    assert "2 proofs of a script against itself: 2 not-proven" in lines[0]


def test_its_scripts_exist() -> None:
    assert set(CASES) <= load_all(ROOT / "casebook").keys()
    assert len(CASES) == 10
