"""A bound is no part of a joint gain, except where nothing better is known."""

from __future__ import annotations

from fitdoctor.findings.finding import Cure, Finding, How
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import joint_gain
from synthetic import MS

TOTAL = Interval.exact(40 * MS)
PARTS = {"step": 10.0 * MS, "input_wait": 30.0 * MS}


def finding(how: How, gain: float, **saves: float) -> Finding:
    saved = {part: Interval(ns, 0.0, ns) for part, ns in saves.items()}
    cure = Cure("advice", "")
    return Finding("X1", "x", None, "", Interval(gain, 1.0, gain), cure, saves=saved, how=how)


def test_a_bound_adds_nothing_to_what_was_measured() -> None:
    tried = finding("tried", 4.0, input_wait=30 * MS)
    bound = finding("bound", 1.3, step=9.9 * MS)
    assert joint_gain(TOTAL, PARTS, [tried, bound]) == joint_gain(TOTAL, PARTS, [tried])


def test_of_bounds_alone_the_largest_counts_as_it_is() -> None:
    small, large = finding("bound", 1.3, step=9 * MS), finding("bound", 4.0, input_wait=30 * MS)
    assert joint_gain(TOTAL, PARTS, [small, large]) == large.gain
