"""Gains as people read them."""

from __future__ import annotations

import pytest

from fitdoctor.intervals import Interval
from fitdoctor.units import gain


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Interval(2.4, 1.9, 2.6), "2.4× (1.90–2.6)"),
        (Interval(110.0, 90.0, 130.0), "110× (90–130)"),  # far, and known
        (Interval(17.0, 7.2, 60.0), "17× (7.2–60)"),  # wide, and still believable
        (Interval(17.0, 7.2, 1000.0), "17× (at least 7.2)"),
    ],
)
def test_an_end_that_nobody_could_believe_is_not_written(ratio: Interval, text: str) -> None:
    assert gain(ratio) == text
