"""Which cures are dropped before the rest is proven."""

from __future__ import annotations

from collections.abc import Sequence

from fitdoctor.intervals import Interval
from fitdoctor.proof.equivalence import Equivalence, not_checked
from fitdoctor.proof.measured import Measured
from fitdoctor.proof.one_by_one import sift
from fitdoctor.proof.proof_verdict import Proof, Verdict


def proof(verdict: Verdict) -> Proof:
    return Proof(verdict, "", Measured(), not_checked(""))


def sifted(alone: dict[str, Verdict], added: dict[str, Interval | None] | None = None):
    asked: list[tuple[tuple[str, ...], str]] = []

    def beside(others: Sequence[str], cure: str) -> Interval | None:
        asked.append((tuple(others), cure))
        return (added or {}).get(cure)

    found = sift(list(alone), lambda cure: proof(alone[cure]), beside)
    return found, asked


def test_nothing_is_dropped_where_every_cure_helps() -> None:
    found, asked = sifted({"a": "proven", "b": "proven"})
    assert (found.kept, found.dropped, asked) == (("a", "b"), (), [])


def test_what_is_slower_is_dropped_at_once() -> None:
    found, asked = sifted({"a": "proven", "b": "slower"})
    assert (found.kept, found.dropped, asked) == (("a",), ("b",), [])


def test_what_could_not_be_measured_stays() -> None:
    found, _ = sifted({"a": "proven", "b": "invalid"})
    assert (found.kept, found.dropped) == (("a", "b"), ())


def test_what_shows_nothing_alone_gets_its_turn_beside_the_others() -> None:
    helps = Interval(1.5, 1.4, 1.6)
    found, asked = sifted({"hidden": "not-proven", "a": "proven"}, {"hidden": helps})
    assert found.kept == ("hidden", "a")  # in the order that was given
    assert asked == [(("a",), "hidden")]


def test_what_shows_nothing_beside_the_others_either_is_dropped() -> None:
    nothing = Interval(1.0, 0.97, 1.03)
    found, _ = sifted({"a": "proven", "b": "not-proven", "c": "not-proven"}, {"b": nothing})
    assert (found.kept, found.dropped) == (("a",), ("b", "c"))


def test_where_nothing_helps_nothing_is_kept_and_each_is_told() -> None:
    found, asked = sifted({"a": "not-proven", "b": "slower"})
    assert (found.kept, found.dropped, asked) == ((), ("a", "b"), [])
    assert [cure for cure, _ in found.alone] == ["a", "b"]


def test_what_trains_differently_gets_no_second_turn() -> None:
    differs = Equivalence("identical", "different", "")
    proofs = {
        "a": proof("proven"),
        "b": Proof("not-proven", "it trains differently", Measured(), differs),
    }

    def beside(others: Sequence[str], cure: str) -> Interval | None:
        raise AssertionError(f"{cure} was tried beside {others}")

    assert sift(list(proofs), proofs.__getitem__, beside).dropped == ("b",)
