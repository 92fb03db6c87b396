"""More pairs, and pairs that lie apart: nothing is said from too few of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from fitdoctor.proof.equivalence import Equivalence
from fitdoctor.proof.measured import Measured
from fitdoctor.proof.proof_verdict import LEAST_GAIN, Proof, judge
from fitdoctor.proof.ratio import ratio_of
from fitdoctor.proof.spread import MOST_PAIRS, more_pairs, pairs_apart
from fitdoctor.report.proof import render_proof

SAME = Equivalence("identical", "bitwise", "")
ratios = st.lists(st.floats(0.2, 5.0), min_size=3, max_size=12)


def measured(*found: float, **more: object) -> Measured:
    interval = ratio_of(found, [1.0] * len(found))
    return Measured(
        runs=2 * len(found), pairs=len(found), steps=90, ratio=interval, ratios=found, **more
    )  # type: ignore[arg-type]


def test_too_few_pairs_say_nothing() -> None:
    assert more_pairs([1.2, 1.3], LEAST_GAIN) is None
    assert pairs_apart([2.0, 2.0, 2.1, 9.0]) == []


def test_what_is_equal_is_never_decided() -> None:
    assert more_pairs([1.0, 1.0, 1.0], LEAST_GAIN) is None
    assert more_pairs([0.9, 1.0, 1.0 / 0.9], LEAST_GAIN) is None


@given(ratios)
def test_so_many_more_pairs_like_these_do_decide(found: list[float]) -> None:
    more = more_pairs(found, LEAST_GAIN)
    if more is None:
        return
    assert 1 <= more <= MOST_PAIRS
    # As many pairs with the same middle and the same spread.
    logs = [math.log(one) for one in found]
    middle = sum(logs) / len(logs)
    spread = math.sqrt(sum((one - middle) ** 2 for one in logs) / (len(logs) - 1))
    count = len(found) + more
    side = spread * math.sqrt((count - 1) / (count - count % 2)) if count > 1 else 0.0
    made = [math.exp(middle + (side if n % 2 else -side)) for n in range(count - count % 2)]
    made += [math.exp(middle)] * (count % 2)
    interval = ratio_of(made, [1.0] * count)
    assert interval is not None
    assert interval.low > LEAST_GAIN * 0.995 or interval.high < 1.006


def test_equal_pairs_and_one_other() -> None:
    assert pairs_apart([2.0] * 4 + [2.2]) == [2.2]
    assert pairs_apart([2.0] * 6) == []


@given(ratios)
def test_most_pairs_never_lie_apart(found: list[float]) -> None:
    assert len(pairs_apart(found)) <= len(found) / 2


def test_not_proven_says_how_many_more_pairs_would_decide() -> None:
    verdict, reason = judge(measured(1.3, 1.0, 1.25, 0.98), SAME, may_differ=False)
    assert verdict == "not-proven"
    assert "about 6 more pairs would decide (--max-runs 20" in reason


def test_where_no_number_of_pairs_decides_it_says_what_is_ruled_out() -> None:
    verdict, reason = judge(measured(0.99, 1.0, 1.01, 1.0), SAME, may_differ=False)
    assert verdict == "not-proven"
    assert "a gain of 1.01× or more is ruled out" in reason


def test_pairs_that_lie_apart_are_reported_and_count() -> None:
    found = measured(2.0, 2.02, 1.98, 2.01, 5.0, disturbed_pairs=1, before_ns=2e6, after_ns=1e6)
    proof = Proof("proven", "it is", found, SAME)
    text = render_proof(proof)
    assert "1 pair lies apart (5.0× beside 2.0×) and counts like the others" in text
    assert "1 pair was disturbed by other processes, left out, and repeated" in text
    assert found.ratio is not None and found.ratio.value > 2.3
    pairs = proof.to_json()["pairs"]
    assert (pairs["apart"], pairs["disturbed"], pairs["more"]) == ([5.0], 1, None)


@pytest.mark.parametrize("verdict", ["proven", "slower"])
def test_what_is_decided_asks_for_no_more(verdict: str) -> None:
    proof = Proof(verdict, "", measured(1.3, 1.0, 1.25, 0.98), SAME)  # type: ignore[arg-type]
    assert proof.to_json()["pairs"]["more"] is None
