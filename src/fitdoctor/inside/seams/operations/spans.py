"""Spans of time on several threads, divided so that they sum to the time that passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Span(NamedTuple, Generic[Key]):
    """Something that ran on one thread from `begin` to `end`, in nanoseconds."""

    begin: float
    end: float
    key: Key


class Divided(NamedTuple, Generic[Key]):
    """Nanoseconds by key, how often each came, and nanoseconds in which nothing ran."""

    ns: dict[Key, float]
    times: Counter[Key]
    idle_ns: float


def divided(threads: Iterable[Sequence[Span[Key]]], begin: float, end: float) -> Divided[Key]:
    """Divide the time from begin to end among the spans.

    Of spans inside each other on a thread, the innermost one counts. What runs on several threads
    at the same time shares it.

    Example:
        >>> two = [[Span(0, 8, "outer"), Span(2, 6, "inner")], [Span(4, 10, "other")]]
        >>> divided(two, 0, 12).ns == {"outer": 3.0, "inner": 3.0, "other": 4.0}
        True
    """
    times: Counter[Key] = Counter()
    edges: list[tuple[float, int, Key]] = []
    for spans in threads:
        times.update(span.key for span in spans if span.end > begin and span.begin < end)
        for piece in innermost(spans):
            since, until = max(begin, piece.begin), min(end, piece.end)
            if until > since:
                edges.append((since, 1, piece.key))
                edges.append((until, -1, piece.key))
    edges.sort(key=lambda edge: (edge[0], edge[1]))
    ns: dict[Key, float] = {}
    active: Counter[Key] = Counter()
    running, busy, last = 0, 0.0, begin
    for at, change, key in edges:
        passed = at - last
        if running and passed > 0:
            busy += passed
            for one, threads_of_it in active.items():
                ns[one] = ns.get(one, 0.0) + passed * threads_of_it / running
        last = at
        running += change
        active[key] += change
        if not active[key]:
            del active[key]
    return Divided(ns, times, max(0.0, end - begin - busy))


def innermost(spans: Sequence[Span[Key]]) -> list[Span[Key]]:
    """The pieces of a thread's time, each with the innermost span that covers it."""
    pieces: list[Span[Key]] = []
    open_spans: list[Span[Key]] = []
    at = 0.0

    def advance(to: float) -> None:
        nonlocal at
        if open_spans and to > at:
            pieces.append(Span(at, to, open_spans[-1].key))
        at = max(at, to)

    for span in sorted(spans, key=lambda one: (one.begin, -one.end)):
        while open_spans and open_spans[-1].end <= span.begin:
            advance(open_spans[-1].end)
            open_spans.pop()
        advance(span.begin)
        at = span.begin if not open_spans else max(at, span.begin)
        open_spans.append(span)
    while open_spans:
        advance(open_spans[-1].end)
        open_spans.pop()
    return pieces
