"""A changed pipeline that was tried: what each epoch begins with counts once."""

from __future__ import annotations

import pytest

from fitdoctor.analysis.pipeline import trial_of
from synthetic import MS, fit_workload, trial

FIRST = {"first_ns": 10 * MS, "as_written_first_ns": 90 * MS}


def tried(units: int, steps_per_epoch: float | None):
    data = {**trial(1 * MS, 4 * MS, **FIRST), "units": units}
    found = trial_of(fit_workload(probes={"trial_x": data}), "trial_x", steps_per_epoch)
    assert found is not None
    return found


def test_without_epochs_there_is_no_first_batch() -> None:
    found = tried(100, None)
    assert (found.ns.value, found.as_written.value) == (
        pytest.approx(1 * MS),
        pytest.approx(4 * MS),
    )
    assert found.first_saved_ns == 0


def test_the_first_batch_of_a_long_epoch_is_spread_over_it() -> None:
    found = tried(100, 50.0)
    assert found.ns.value == pytest.approx(1.2 * MS, rel=0.02)
    assert found.as_written.value == pytest.approx(5.8 * MS, rel=0.02)
    assert found.first_saved_ns == pytest.approx(1.6 * MS)


def test_of_short_epochs_it_is_in_the_mean_already() -> None:
    found = tried(1000, 8.0)
    assert found.ns.value == pytest.approx(1 * MS, rel=0.02)
    assert found.as_written.value == pytest.approx(4 * MS, rel=0.02)
    assert found.first_saved_ns == pytest.approx(10 * MS)
