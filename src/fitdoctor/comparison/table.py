"""The comparison as text: how each step changed, and which findings came or went."""

from __future__ import annotations

from collections.abc import Iterator

from fitdoctor.comparison.compared_run import Measured, Side
from fitdoctor.comparison.pairs import Pair
from fitdoctor.intervals import Interval
from fitdoctor.report.step_time import PART_WORDS
from fitdoctor.report.text import clean
from fitdoctor.units import duration, gain

# A part is worth a line when it changed by this share of a step.
WORTH_A_LINE = 0.02


def comparison_text(pairs: list[Pair]) -> str:
    """One paragraph per workload."""
    return "\n".join(line for pair in pairs for line in _lines(pair))


def budget_text(side: Side) -> str:
    """One recording by itself: the step of each workload and what is known of it."""
    return "\n".join(line for workload in side.workloads for line in _alone(workload))


def _alone(workload: Measured) -> Iterator[str]:
    yield clean(workload.title)
    yield f"  step      {_time(workload.step)}"
    yield f"  verdict   {clean(workload.verdict)}"
    if workload.findings:
        yield f"  findings  {clean(', '.join(workload.findings))}"


def change_words(ratio: Interval | None) -> str:
    """A change in words, never a bare minus sign.

    Example:
        >>> change_words(Interval(0.5, 0.45, 0.55))
        '2.0× faster (1.82–2.2)'
    """
    if ratio is None:
        return "not comparable: a step was not measured"
    if ratio.low <= 1.0 <= ratio.high:
        return "no measurable change"
    if ratio.value > 1.0:
        return f"{gain(ratio).replace('× ', '× slower ', 1)}"
    faster = Interval(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)
    return f"{gain(faster).replace('× ', '× faster ', 1)}"


def _lines(pair: Pair) -> Iterator[str]:
    yield clean(pair.either.title)
    if pair.before is None or pair.after is None:
        yield f"  only {'after' if pair.before is None else 'before'}"
        return
    before, after = pair.before, pair.after
    times = f"{_time(before.step)} → {_time(after.step)}"
    yield f"  step      {times}   {change_words(pair.ratio)}"
    yield from _parts(before, after)
    if before.verdict != after.verdict:
        yield f"  verdict   {clean(before.verdict)} → {clean(after.verdict)}"
    for word, one, other in (("new", after, before), ("gone", before, after)):
        codes = [code for code in one.findings if code not in other.findings]
        if codes:
            yield f"  {word:<8}  {clean(', '.join(codes))}"


def _parts(before: Measured, after: Measured) -> Iterator[str]:
    if before.parts is None or after.parts is None or before.step is None:
        return
    for name in dict.fromkeys((*before.parts, *after.parts)):
        old, new = before.parts.get(name), after.parts.get(name)
        if abs((new or 0.0) - (old or 0.0)) >= WORTH_A_LINE * before.step.value:
            word = clean(PART_WORDS.get(name, name))
            yield f"    {word:<24} {_part(old)} → {_part(new)}"


def _time(step: Interval | None) -> str:
    return "not measured" if step is None else duration(step.value)


def _part(ns: float | None) -> str:
    return "none seen" if ns is None else duration(ns)
