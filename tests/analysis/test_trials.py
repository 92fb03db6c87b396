"""A changed pipeline that was tried: what each epoch begins with counts once."""

from __future__ import annotations

import pytest

from fitdoctor.analysis.pipeline import trial_of
from fitdoctor.contract.evidence.pipeline import ParallelMap
from synthetic import MS, fit_workload, tried

FIRST = {"first_ns": 10 * MS, "as_written_first_ns": 90 * MS}


def tried_pipeline(units: int, steps_per_epoch: float | None):
    made = tried(ParallelMap, 1 * MS, 4 * MS, units=units, **FIRST)
    found = trial_of(fit_workload(found=[made]), ParallelMap, steps_per_epoch)
    assert found is not None
    return found


def test_without_epochs_there_is_no_first_batch() -> None:
    found = tried_pipeline(100, None)
    assert (found.ns.value, found.as_written.value) == (
        pytest.approx(1 * MS),
        pytest.approx(4 * MS),
    )
    assert found.first_saved_ns == 0


def test_the_first_batch_of_a_long_epoch_is_spread_over_it() -> None:
    found = tried_pipeline(100, 50.0)
    assert found.ns.value == pytest.approx(1.2 * MS, rel=0.02)
    assert found.as_written.value == pytest.approx(5.8 * MS, rel=0.02)
    assert found.first_saved_ns == pytest.approx(1.6 * MS)


def test_of_short_epochs_it_is_in_the_mean_already() -> None:
    found = tried_pipeline(1000, 8.0)
    assert found.ns.value == pytest.approx(1 * MS, rel=0.02)
    assert found.as_written.value == pytest.approx(4 * MS, rel=0.02)
    assert found.first_saved_ns == pytest.approx(10 * MS)
