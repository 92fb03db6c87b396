from __future__ import annotations

import pytest

from fitdoctor.proof.timeline import Span, Timeline


def test_a_step_that_does_the_work_of_several_counts_for_them() -> None:
    run = Timeline(
        tuple(Span(n * 100, n * 100 + 90, 1) for n in range(10)),
        epoch_steps=5,
        executions=1,
        disturbed_share=0.0,
    )
    counted = run.counted(16)
    assert counted.steps == 160
    assert counted.epoch_steps == 80
    assert counted.time_at(80) == pytest.approx(run.time_at(5))
    assert counted.steps_in_one == 16
