"""An interval that reaches down to one says nothing, or says that nothing is known."""

from __future__ import annotations

import dataclasses

import diagnoses
import pytest

from fitdoctor.findings.diagnosed import Ceiling, DiagnosedWorkload, StepTime
from fitdoctor.intervals import Interval
from fitdoctor.report.step_time import ceiling_sentence, ceiling_words


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


def test_the_time_shown_is_the_one_that_the_gain_belongs_to() -> None:
    # 20 ms a step, of which 2 ms are the training step and 3 ms stay whatever the input does.
    ceiling = Ceiling(2e6, Interval(4.0, 3.5, 4.5))
    sentence = ceiling_sentence(_workload(StepTime(20e6, 19e6, 21e6)), ceiling)
    assert sentence == "With its data in memory a step takes 5.00 ms, 4.0× (3.5–4.5) faster."


def test_without_a_steady_step_the_kept_batch_is_what_is_known() -> None:
    ceiling = Ceiling(2e6, Interval(1.0, 0.99, 1.01))
    assert ceiling_sentence(_workload(None), ceiling) == (
        "With its data in memory a step takes 2.00 ms, no faster."
    )


def _workload(step: StepTime | None) -> DiagnosedWorkload:
    return dataclasses.replace(diagnoses.slow_workload(), step=step, breakdown=())
