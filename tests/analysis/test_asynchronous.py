"""Where the host only enqueues, the device's work counts as the step, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.analysis.asynchronous import SURFACES_IN, as_computed
from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.rules.callbacks import heavy_validation
from fitdoctor.rules.host import tiny_epochs
from synthetic import MS, fit_workload, recording, short_epochs, timed, view, with_found

ns = st.floats(min_value=0.0, max_value=1e9)
parts = st.dictionaries(st.sampled_from(["step", "input_wait", "start_up", *SURFACES_IN]), ns)


@given(parts, ns, ns)
def test_the_parts_sum_to_what_they_did_and_none_is_negative(
    known: dict[str, float], core: float, frozen: float
) -> None:
    found = as_computed(known, core, frozen)
    assert sum(found.values()) == pytest.approx(sum(known.values()))
    assert all(value >= -1e-6 for value in found.values())


@given(parts, ns, ns)
def test_a_step_never_becomes_shorter(known: dict[str, float], core: float, frozen: float) -> None:
    assert as_computed(known, core, frozen).get("step", 0.0) >= known.get("step", 0.0)


def test_a_step_as_long_as_a_frozen_one_stays() -> None:
    known = {"step": 9.0, "input_wait": 1.0, "validation": 5.0}
    assert as_computed(known, core=10.0, frozen=9.0) == known


def test_work_that_surfaces_in_the_validation_is_the_steps() -> None:
    found = as_computed({"step": 10.0, "epoch_gap": 30.0, "validation": 70.0}, 10.0, 100.0)
    assert found == {"step": 100.0, "epoch_gap": 0.0, "validation": 10.0}


def enqueued(backend: str):
    """Steps of 10 ms of which the host sees 1 ms, and a long wait at each epoch's end."""
    seen = short_epochs(steps=20, epochs=6, gap=80 * MS, validation=80 * MS)
    workload = with_found(seen, timed(FrozenBatch, 9 * MS))
    return view_of(recording(workload, backend=backend), workload)


def test_on_jax_the_wait_for_enqueued_steps_is_no_cost_of_the_epoch() -> None:
    assert tiny_epochs.RULE.detect(enqueued("jax")) is None
    assert heavy_validation.RULE.detect(enqueued("jax")) is None


def test_elsewhere_the_hosts_clock_tells() -> None:
    assert tiny_epochs.RULE.detect(enqueued("tensorflow")) is not None


@pytest.mark.parametrize(("backend", "ahead"), [("jax", True), ("tensorflow", False)])
def test_the_host_runs_ahead_on_jax_only(backend: str, ahead: bool) -> None:
    seen = enqueued(backend)
    assert seen is not None
    assert seen.runs_ahead is ahead
    assert not view(fit_workload(found=[timed(FrozenBatch, 9 * MS)])).runs_ahead
