"""Spans of several threads are divided so that they sum to the time that passed."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, strategies as st

from fitdoctor.inside.seams.operations.spans import Span, divided, innermost

TIMES = st.integers(0, 1000)


@st.composite
def nested(draw: st.DrawFn) -> list[Span[str]]:
    """Spans of one thread, each inside another or after it, as calls are."""
    spans: list[Span[str]] = []

    def fill(begin: int, end: int, depth: int) -> None:
        at = begin
        while at < end and draw(st.booleans()):
            since = draw(st.integers(at, end))
            until = draw(st.integers(since, end))
            if until > since:
                spans.append(Span(since, until, draw(st.sampled_from("abcd"))))
                if depth:
                    fill(since, until, depth - 1)
            at = until + 1

    fill(0, 1000, 3)
    return spans


@given(st.lists(nested(), max_size=4), TIMES, TIMES)
def test_they_sum_to_the_time_that_passed(
    threads: list[list[Span[str]]], one: int, two: int
) -> None:
    begin, end = sorted((one, two))
    found = divided(threads, begin, end)
    assert all(ns >= 0 for ns in found.ns.values())
    assert math.isclose(sum(found.ns.values()) + found.idle_ns, end - begin, abs_tol=1e-6)


@given(nested())
def test_pieces_of_a_thread_never_overlap(spans: list[Span[str]]) -> None:
    pieces = innermost(spans)
    for before, after in itertools.pairwise(pieces):
        assert before.end <= after.begin
    assert all(piece.end > piece.begin for piece in pieces)


@given(nested())
def test_every_piece_is_the_innermost_span_around_it(spans: list[Span[str]]) -> None:
    for piece in innermost(spans):
        middle = (piece.begin + piece.end) / 2
        around = [one for one in spans if one.begin <= middle < one.end]
        shortest = min(one.end - one.begin for one in around)
        assert piece.key in {one.key for one in around if one.end - one.begin == shortest}


def test_an_inner_span_takes_its_time_from_the_outer_one() -> None:
    found = divided([[Span(0, 10, "outer"), Span(2, 5, "inner")]], 0, 20)
    assert found.ns == {"outer": 7.0, "inner": 3.0}
    assert found.idle_ns == 10


def test_threads_share_the_time_in_which_both_work() -> None:
    found = divided([[Span(0, 10, "a")], [Span(5, 10, "b")]], 0, 10)
    assert found.ns == {"a": 7.5, "b": 2.5}
    assert found.idle_ns == 0


def test_what_lies_outside_is_left_out() -> None:
    found = divided([[Span(0, 10, "a"), Span(20, 30, "b")]], 5, 15)
    assert found.ns == {"a": 5.0}
    assert found.times == {"a": 1}
