from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.diagnosis.breakdown import parts_with_contention
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.calibration import joint_width
from fitdoctor.pricing.joint import (
    curable_parts,
    gain,
    gain_over_workloads,
    joint_gain,
    saved_leaving,
)
from fitdoctor.pricing.overlap import StepModel
from synthetic import MS, fit_workload, loader, timed, view

times = st.floats(1.0, 1e9)


@pytest.mark.parametrize(
    ("real", "step", "loader", "overlap"),
    [
        (40.0, 20.0, 40.0, 1.0),  # the loader hides the step
        (40.0, 40.0, 20.0, 1.0),  # the step hides the loader
        (60.0, 20.0, 40.0, 0.0),  # one after the other
        (50.0, 20.0, 40.0, 0.5),
        (500.0, 20.0, 40.0, 0.0),  # more than both: something else is slow
        (40.0, 40.0, 0.0, 1.0),  # no loader at all
    ],
)
def test_overlap_closed_forms(real: float, step: float, loader: float, overlap: float) -> None:
    assert StepModel.fitted(real, step, loader).overlap == pytest.approx(overlap)


@given(times, times, st.floats(0, 1))
def test_the_fitted_model_gives_the_real_step_back(
    step: float, loader: float, overlap: float
) -> None:
    real = StepModel(overlap).core(Interval.exact(step), Interval.exact(loader)).value
    fitted = StepModel.fitted(real, step, loader)
    again = fitted.core(Interval.exact(step), Interval.exact(loader)).value
    assert again == pytest.approx(real, rel=1e-6)


@given(times, times, times)
def test_a_faster_loader_never_makes_a_step_slower(a: float, b: float, step: float) -> None:
    assume(a <= b)
    model = StepModel(0.3)
    fast = model.core(Interval.exact(step), Interval.exact(a))
    slow = model.core(Interval.exact(step), Interval.exact(b))
    assert fast.value <= slow.value * (1 + 1e-9)


def cures(
    total: Interval, savings: list[dict[str, Interval]], own: Interval | None = None
) -> list[Finding]:
    """Findings that save this much of each part; each gains what it saves, or `own`."""
    none = Interval.exact(0.0)
    return [
        Finding(
            rule="HO002",
            name="some-pattern",
            where=None,
            message="it is slow",
            gain=own or gain(total, sum(saves.values(), start=none)),
            cure=Cure("safe", "do it another way"),
            saves=saves,
        )
        for saves in savings
    ]


def test_no_cure_is_no_joint_gain() -> None:
    assert joint_gain(Interval.exact(100.0), {}, []) is None
    assert gain_over_workloads([]) is None
    assert gain_over_workloads([(100.0, None)]) is None


def test_over_workloads_times_add_up_and_gains_do_not() -> None:
    over_all = gain_over_workloads([(100.0, Interval(2.0, 1.0, 4.0)), (100.0, None)])
    assert over_all == Interval(200 / 150, 1.0, 200 / 125)


def test_two_cures_of_different_parts_add_their_savings() -> None:
    total = Interval.exact(100.0)
    savings = [{"input_wait": Interval.exact(40.0)}, {"callbacks": Interval.exact(40.0)}]
    joint = joint_gain(total, {"input_wait": 50.0, "callbacks": 45.0}, cures(total, savings))
    assert joint is not None
    assert joint.value == pytest.approx(5.0)  # and not 1.67 * 1.67


def test_two_cures_of_one_part_count_once() -> None:
    total = Interval.exact(100.0)
    savings = [{"input_wait": Interval.exact(40.0)}, {"input_wait": Interval.exact(50.0)}]
    joint = joint_gain(total, {"input_wait": 60.0}, cures(total, savings))
    assert joint is not None
    assert joint.value == pytest.approx(2.0)


def test_a_part_gives_no_more_than_it_has() -> None:
    total = Interval.exact(100.0)
    savings = [{"callbacks": Interval.exact(60.0)}, {"step": Interval.exact(30.0)}]
    joint = joint_gain(total, {"callbacks": 50.0, "step": 40.0}, cures(total, savings))
    assert joint is not None
    assert joint.value == pytest.approx(5.0)


def test_a_cure_that_takes_from_other_parts_too_gives_what_it_gives_alone() -> None:
    total, batch = Interval.exact(100.0), {"step": Interval.around(80.0, 0.1)}
    both = cures(total, [batch, {"input_wait": Interval.exact(30.0)}])
    alone = joint_width(both).around(gain(total, batch["step"]))
    assert joint_gain(total, {"step": 30.0}, both) == alone


def test_cures_of_a_part_that_has_no_time_add_nothing() -> None:
    total = Interval.exact(100.0)
    savings = [{"step": Interval.exact(50.0)}, {"callbacks": Interval.exact(20.0)}]
    joint = joint_gain(total, {"step": 100.0}, cures(total, savings))
    assert joint is not None
    assert joint.value == pytest.approx(2.0)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["step", "input_wait", "callbacks"]), st.floats(0, 100)),
        min_size=1,
    )
)
def test_together_cures_give_no_less_than_the_best_alone(saved: list[dict[str, float]]) -> None:
    total = Interval.exact(100.0)
    savings = [{part: Interval.exact(ns) for part, ns in one.items()} for one in saved]
    parts = {"step": 40.0, "input_wait": 40.0, "callbacks": 20.0}
    # Not by way of a finding's own gain: what the parts give together must be enough.
    together = cures(total, savings, own=Interval.exact(1.0))
    joint = joint_gain(total, parts, together)
    assert joint is not None
    for one in saved:
        assert joint.value >= gain(total, Interval.exact(sum(one.values()))).value * (1 - 1e-9)


@given(st.floats(10.0, 1e9), st.floats(0.01, 0.99), st.floats(0.0, 0.5))
def test_a_gain_holds_its_own_value(total: float, share: float, error: float) -> None:
    left = Interval.around(total * share, error)
    found = gain(Interval.exact(total), saved_leaving(Interval.exact(total), left))
    assert found.low <= found.value <= found.high
    assert found.value == pytest.approx(1 / share, rel=0.01)


def test_what_a_cure_of_the_input_saves_between_epochs_is_not_counted_twice() -> None:
    workload = fit_workload(
        period=10 * MS,
        step=2 * MS,
        wait=8 * MS,
        found=[timed(FrozenBatch, 2 * MS), loader(9 * MS)],
    )
    seen = view(replace(workload, calls=(replace(workload.calls[0], epochs=10),)))
    gap = {**seen.costs.parts, "epoch_gap": 3.0 * MS}
    seen = replace(seen, costs=replace(seen.costs, parts=gap))
    parts = curable_parts(parts_with_contention(seen), 10.0 * MS)
    assert parts["input_wait"] + parts["epoch_gap"] == pytest.approx(11 * MS, rel=0.01)
    assert parts["input_wait"] == pytest.approx(10 * MS, rel=0.01)
    # A cure that needs nothing of the gap leaves it to others.
    left = curable_parts(parts_with_contention(seen), 5.0 * MS)["epoch_gap"]
    assert left == pytest.approx(3 * MS)
