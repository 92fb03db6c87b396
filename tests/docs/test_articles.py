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


def test_every_measured_claim_has_a_result() -> None:
    rows = json.loads(RESULT.read_text(encoding="utf-8"))["rows"]
    wanted = {
        (claim.id, backend)
        for claim in all_claims()
        if claim.measure is not None
        for backend in claim.backends
    }
    assert {(row["id"], row["backend"]) for row in rows} == wanted
    assert all(words(row) for row in rows)


def test_rounds_run_in_turn_and_the_first_is_not_counted() -> None:
    order: list[str] = []

    def way(name: str, seconds: float) -> float:
        order.append(name)
        return seconds

    found = in_turn({"a": lambda: way("a", 4.0), "b": lambda: way("b", 2.0)}, rounds=2)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert found == {"a": [4.0, 4.0], "b": [2.0, 2.0]}
    assert speeds(found) == {"b": {"ratio": 2.0, "low": 2.0, "high": 2.0}}
