from __future__ import annotations

import pytest

from fitdoctor.recording.schema import CallbackTotal
from fitdoctor.rules.ho002 import RULE
from synthetic import MS, fit_workload, view, windows


def small_step(
    *, quarter: float = 0.9, ten: float | None = 0.3, fifty: float | None = 0.28, **more
):
    backend = more.pop("backend", "tensorflow")
    probes = {
        "frozen_batch": windows(0.9 * MS),
        "batch_scaling": {
            "rows": 32,
            "sizes": {"8": windows(quarter * MS), "128": windows(1.2 * MS)},
        },
    }
    if ten is not None:
        probes["steps_per_execution_1"] = windows(0.9 * MS)
        probes["steps_per_execution_10"] = windows(ten * MS)
    if fifty is not None:
        probes["steps_per_execution_50"] = windows(fifty * MS)
    workload = fit_workload(period=MS, step=int(0.9 * MS), wait=0, probes=probes, **more)
    return view(workload, backend=backend)


def test_silent_when_time_grows_with_the_batch() -> None:
    assert RULE.detect(small_step(quarter=0.3)) is None


def test_silent_without_the_scaling_probe() -> None:
    assert RULE.detect(view(fit_workload(probes={"frozen_batch": windows(9 * MS)}))) is None


def test_worth_nothing_when_the_trial_gains_nothing() -> None:
    finding = RULE.detect(small_step(ten=0.9, fifty=0.9))
    assert finding is not None
    # Only Keras's loop around the step (0.1 of 1 ms) becomes rarer.
    assert finding.gain.value == pytest.approx(1 / 0.91, rel=0.02)


def test_fires_with_the_measured_trial() -> None:
    finding = RULE.detect(small_step())
    assert finding is not None
    assert "steps_per_execution=10" in finding.cure.summary
    # 1 ms becomes 0.3 ms and a tenth of the loop's 0.1 ms.
    assert finding.gain.value == pytest.approx(1 / 0.31, rel=0.05)
    assert finding.cure.safety == "safe"


def test_recommends_fifty_only_where_it_is_clearly_better() -> None:
    finding = RULE.detect(small_step(ten=0.5, fifty=0.2))
    assert finding is not None
    assert "steps_per_execution=50" in finding.cure.summary


def test_batch_callbacks_make_it_unsafe() -> None:
    totals = (CallbackTotal("Monitor", "batch", 200, 100, "/user/t.py", 3),)
    finding = RULE.detect(small_step(callback_totals=totals))
    assert finding is not None
    assert finding.cure.safety == "unsafe"
    assert "Monitor" in finding.cure.summary


def test_on_torch_a_larger_batch_is_advice_with_a_price() -> None:
    finding = RULE.detect(small_step(ten=None, fifty=None, backend="torch"))
    assert finding is not None
    assert finding.cure.safety == "advice"
    # Four batches in 1.2 + 0.1 ms instead of four times 1 ms.
    assert finding.gain.value == pytest.approx(4 / 1.3, rel=0.1)
