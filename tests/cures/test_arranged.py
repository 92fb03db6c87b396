from __future__ import annotations

import pytest
from edit_text import after, at, is_there, why_not

from fitdoctor.findings.edits import ArrangeCalls

CALLS = ((1, "map"), (1, "map"), (1, "batch"))
CHAIN = "d = e.map(f).map(g).batch(2).prefetch(1)\n"


def arranged(
    order: tuple[int, ...], lines: tuple[int, ...] = (1, 1, 1), cached: int | None = None
) -> ArrangeCalls:
    names = [name for _, name in CALLS]
    return ArrangeCalls(at(lines[0]), tuple(zip(lines, names, strict=True)), order, cached)


@pytest.mark.parametrize(
    "text",
    [
        "d = e.map(f).filter(h).map(g).batch(2)\n",  # another call lies between
        "d = e.map(f)\nk = d.map(g)\nk = k.batch(2)\n",  # other names
        "d = e.map(f).map(g)\nprint(d)\nd = d.batch(2)\n",  # used meanwhile
        "d = batch(2)\n",
    ],
)
def test_what_is_not_one_chain_is_declined(text: str) -> None:
    lines = (1, 2, 3) if "k = " in text else (1, 1, 3) if "print" in text else (1, 1, 1)
    assert "not one chain" in why_not(text, arranged((2, 0, 1), lines))


def test_comments_between_calls_are_left_alone() -> None:
    text = "d = (\n    e.map(f)\n    # why\n    .map(g)\n    .batch(2)\n)\n"
    assert "comments" in why_not(text, arranged((2, 0, 1), (2, 4, 5)))


def test_calls_of_one_chain() -> None:
    assert after(CHAIN, arranged((2, 0, 1))) == "d = e.batch(2).map(f).map(g).prefetch(1)\n"
    assert after(CHAIN, arranged((0, 2, 1))) == "d = e.map(f).batch(2).map(g).prefetch(1)\n"
    assert is_there(CHAIN, arranged((0, 1, 2)))


def test_a_call_per_line() -> None:
    text = "d = (\n    e.map(f)\n    .map(g)\n    .batch(2)\n)\n"
    expected = "d = (\n    e.map(f)\n    .batch(2)\n    .map(g)\n)\n"
    assert after(text, arranged((0, 2, 1), (2, 3, 4))) == expected


def test_a_statement_per_call() -> None:
    text = "d = e.map(f)\nd = d.map(g)  # cast\nd = d.batch(2)\n"
    expected = "d = e.batch(2)\nd = d.map(f)  # cast\nd = d.map(g)\n"
    assert after(text, arranged((2, 0, 1), (1, 2, 3))) == expected
    mixed = "d = e.map(f).map(g)\nd = d.batch(2)\n"
    assert after(mixed, arranged((0, 2, 1), (1, 1, 2))) == "d = e.map(f).batch(2)\nd = d.map(g)\n"


def test_a_cache_comes_along() -> None:
    text = "d = e.map(f).batch(2).cache().map(g).prefetch(1)\n"
    assert after(CHAIN, arranged((0, 2, 1), cached=2)) == text
