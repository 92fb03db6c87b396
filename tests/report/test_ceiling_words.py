"""An interval that reaches down to one says nothing, or says that nothing is known."""

from __future__ import annotations

import pytest

from fitdoctor.findings.diagnosed import Ceiling
from fitdoctor.intervals import Interval
from fitdoctor.report.step_time import ceiling_words


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Interval(1.0, 0.97, 1.03), "no faster"),
        (Interval(1.05, 0.9, 1.4), "no faster"),
        (Interval(3.6, 3.2, 3.9), "3.6× (3.2–3.9) faster"),
        (
            Interval(27, 0.8, 40),
            "perhaps faster, too noisy to say: 27× (0.80–40)",
        ),
    ],
)
def test_words(gain: Interval, words: str) -> None:
    assert ceiling_words(Ceiling(1e6, gain)) == words
