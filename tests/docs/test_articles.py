"""The claims: each is measured, or says where it is; each result belongs to one."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.articles.__main__ import RESULT, words
from benchmarks.articles.claim import Claim
from benchmarks.articles.registry import MODULES, all_claims
from benchmarks.articles.timing import in_turn, speeds


def test_ids_are_unique() -> None:
    ids = [claim.id for claim in all_claims()]
    assert len(ids) == len(set(ids))


def test_every_article_has_its_claims() -> None:
    sources = " ".join(claim.source for claim in all_claims())
    examples = [
        f"{article}, example {n}" for article in ("000", "002", "003", "004") for n in "123"
    ]
    for example in (*examples, "001, example 3", "001, examples 1 and 2"):
        assert example in sources


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_a_claim_says_what_it_rests_on(claim: Claim) -> None:
    assert claim.verdict in ("true", "false", "depends")
    assert claim.because
    if claim.measure is None:
        assert claim.elsewhere or "not measured" in claim.because
    assert claim.says[-1] not in ".!" and "|" not in claim.says + claim.because


def test_listing_the_claims_imports_no_framework() -> None:
    # The documentation is built from them, on machines without one.
    assert len(MODULES) > 5
    source = sys.modules["benchmarks.articles.maps"]
    assert "tensorflow" not in vars(source) and "tf" not in vars(source)


def test_every_result_belongs_to_a_claim() -> None:
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"]
    wanted = {
        (claim.id, backend)
        for claim in all_claims()
        if claim.measure is not None
        for backend in claim.backends
    }
    found = {(row["id"], row["backend"]) for row in rows}
    # A new claim says "not measured" on the page until it was run; most were.
    assert found <= wanted and len(found) > 0.8 * len(wanted)
    assert all(words(row) for row in rows)


class Fixed:
    def __init__(self, cores: float) -> None:
        self._cores = cores

    def cores(self) -> float:
        return self._cores


def test_disturbed_rounds_are_repeated_and_the_quietest_count() -> None:
    loads = iter([0.9, 0.1, 0.8, 0.7, 0.05, 0.6])
    times = iter([0.0, 9.0, 1.0, 8.0, 7.0, 2.0, 6.0])  # the first is not counted
    found, others = in_turn(
        {"a": lambda: next(times)}, rounds=2, neighbours=lambda: Fixed(next(loads))
    )
    assert found == {"a": [2.0, 1.0]} and others == pytest.approx(0.075)
    assert next(times) == 6.0  # two quiet rounds were enough


def test_rounds_run_in_turn_and_the_first_is_not_counted() -> None:
    order: list[str] = []

    def way(name: str, seconds: float) -> float:
        order.append(name)
        return seconds

    ways = {"a": lambda: way("a", 4.0), "b": lambda: way("b", 2.0)}
    found, others = in_turn(ways, rounds=2, neighbours=lambda: Fixed(0.1))
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert found == {"a": [4.0, 4.0], "b": [2.0, 2.0]} and others == 0.1
    assert speeds(found) == {"b": {"ratio": 2.0, "low": 2.0, "high": 2.0}}
