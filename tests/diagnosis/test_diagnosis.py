"""From a recording to the verdict, on synthetic recordings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import CallbackTotal, ProbeRun
from fitdoctor.diagnosis import diagnose, whole
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from synthetic import (
    MS,
    call_group,
    event,
    fit_workload,
    loader,
    recording,
    restarted_epochs,
    timed,
    view,
    with_found,
)

PYDATASET = InputFacts(kind="PyDataset", workers=1, file="/user/data.py", line=9, name="Rows")


def slow_input(**more):
    found = [timed(FrozenBatch, 2 * MS), loader(19 * MS, user_share=1.0), PYDATASET]
    return fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found, **more)


def test_no_workload_is_no_verdict_and_no_gain() -> None:
    found = diagnose(recording())
    assert found.workloads == ()
    assert found.joint_gain is None


def test_a_step_at_its_ceiling_is_healthy() -> None:
    healthy = fit_workload(period=100 * MS, step=99 * MS, found=[timed(FrozenBatch, 99 * MS)])
    workload = diagnose(recording(healthy)).workloads[0]
    assert workload.verdict == "at-ceiling"
    assert workload.findings == ()
    assert workload.joint_gain is None


def test_training_that_is_a_third_of_the_time_is_not_called_healthy() -> None:
    waits = restarted_epochs(0, ending=1000 * MS, found=[timed(FrozenBatch, 9 * MS)])
    workload = diagnose(recording(waits), rules=[]).workloads[0]
    assert workload.verdict == "host-bound"
    assert "is spent between epochs; no rule names the cause" in workload.sentence
    assert "at most 2.9× faster" in workload.sentence


@pytest.mark.parametrize(("calls", "is_named"), [(500, True), (3, False)])
def test_calls_that_a_callback_makes_again_and_again_are_named(calls: int, is_named: bool) -> None:
    busy = fit_workload(
        period=100 * MS,
        step=9 * MS,
        callbacks=90 * MS,
        found=[timed(FrozenBatch, 9 * MS)],
        callback_totals=(CallbackTotal("Monitor", "batch", 200, 200 * 90 * MS, "/user/t.py", 3),),
    )
    inner = replace(call_group(calls=calls), number=7, kind="predict", parent=busy.number, line=69)
    workload = diagnose(recording(busy, inner), rules=[]).workloads[0]
    assert workload.verdict == "callback-bound"
    assert ("mostly predict at train.py:69, called" in workload.sentence) is is_named


def test_validating_is_training_too() -> None:
    half = fit_workload(found=[timed(FrozenBatch, 10 * MS)])
    passes = tuple(event("validation", 10**9 + i * MS, 500 * MS) for i in range(4))
    half = replace(half, events=passes)
    workload = diagnose(recording(half), rules=[]).workloads[0]
    assert workload.verdict == "at-ceiling"


def test_too_few_steps_are_not_judged_and_say_why() -> None:
    workload = diagnose(recording(fit_workload(steps=3))).workloads[0]
    assert workload.verdict == "not-judged"
    assert any("too short" in health.message for health in workload.health)


def test_without_a_ceiling_nothing_is_concluded_and_the_reason_is_given() -> None:
    failed = {"frozen_batch": ProbeRun("frozen_batch", "failed", "OSError: no space")}
    workload = diagnose(recording(replace(fit_workload(), probes=failed))).workloads[0]
    assert workload.verdict == "not-judged"
    assert any("no space" in health.message for health in workload.health)
    assert any("no space" in text for text in workload.not_measured)


def test_waiting_that_no_rule_explains_is_still_called_input_bound() -> None:
    native = with_found(slow_input(), loader(19 * MS, cores=2.0))
    workload = diagnose(recording(native)).workloads[0]
    assert workload.verdict == "input-bound"
    assert workload.findings == ()


def test_the_breakdown_sums_whatever_is_moved_between_its_parts() -> None:
    for backend in ("tensorflow", "jax", "torch"):
        workload = diagnose(recording(slow_input(), backend=backend)).workloads[0]
        assert sum(part.share for part in workload.breakdown) == pytest.approx(1.0)


def test_a_step_held_up_by_its_loader_is_not_called_training() -> None:
    found = [timed(FrozenBatch, 2 * MS), loader(19 * MS, user_share=1.0), PYDATASET]
    starved = fit_workload(period=20 * MS, step=15 * MS, wait=4 * MS, found=found)
    parts = {p.part: p.ns_per_step for p in diagnose(recording(starved)).workloads[0].breakdown}
    assert parts["step"] == pytest.approx(2 * MS, rel=0.02)
    assert parts["loader_contention"] == pytest.approx(13 * MS, rel=0.02)


def test_a_host_that_runs_ahead_does_not_tell_the_step_by_its_own_clock() -> None:
    # JAX enqueues in 1 ms what the device takes 100 ms for; the wait surfaces elsewhere.
    passes = tuple(event("validation", 10**12 + i, 9_900 * MS) for i in range(2))
    ahead = fit_workload(
        period=MS, step=MS, wait=0, events=passes, found=[timed(FrozenBatch, 100 * MS)]
    )
    workload = diagnose(recording(ahead, backend="jax")).workloads[0]
    parts = {p.part: p.share for p in workload.breakdown}
    assert parts["step"] > 0.95
    assert workload.step is not None
    assert workload.step.median_ns == pytest.approx(100 * MS, rel=0.02)


def test_two_causes_are_both_named_and_their_joint_gain_is_no_product() -> None:
    total = (CallbackTotal("Monitor", "batch", 200, 200 * 8 * MS, "/user/cb.py", 3),)
    found = [timed(FrozenBatch, 2 * MS), loader(10 * MS, user_share=1.0), PYDATASET]
    both = fit_workload(
        period=20 * MS, step=2 * MS, wait=10 * MS, callbacks=8 * MS, found=found,
        callback_totals=total,
    )  # fmt: skip
    workload = diagnose(recording(both)).workloads[0]
    assert {f.rule for f in workload.findings} == {"IN001", "CB001"}
    assert workload.joint_gain is not None
    first, second = workload.findings
    assert workload.joint_gain.value > max(first.gain.value, second.gain.value)
    assert workload.joint_gain.value == pytest.approx(20 / 2.36, rel=0.1)


def test_an_evaluate_inside_a_callback_is_part_of_the_fit() -> None:
    inner = replace(call_group(kind="evaluate"), parent=1)
    found = diagnose(recording(slow_input(), inner))
    assert [w.kind for w in found.workloads] == ["fit"]


def test_workloads_are_ordered_by_the_time_they_took_and_trifles_left_out() -> None:
    trifle = replace(fit_workload(steps=6, period=1000), line=5)
    found = diagnose(recording(trifle, slow_input()))
    assert [w.where.line for w in found.workloads if w.where] == [88]


def test_gains_over_several_workloads_weigh_by_their_time() -> None:
    healthy = replace(
        fit_workload(period=20 * MS, step=19 * MS, found=[timed(FrozenBatch, 19 * MS)]),
        line=99,
    )
    one = diagnose(recording(slow_input())).joint_gain
    both = diagnose(recording(slow_input(), healthy)).joint_gain
    assert one is not None and both is not None
    assert 1.5 < both.value < one.value
    assert both.value == pytest.approx(2 / (1 / one.value + 1), rel=0.02)


def jitted_loop(again: float):
    """A JAX loop without a loader: steps of 10 ms, of which the host sees 0.2 ms."""
    return fit_workload(
        kind="loop",
        period=10 * MS,
        step=MS // 5,
        wait=None,
        detail={"marker": "jax.jit", "backend": "jax"},
        found=[timed(RepeatedCall, again)],
    )


def test_a_loop_without_a_loader_is_healthy_where_its_function_is_all_of_it() -> None:
    workload = diagnose(recording(jitted_loop(9.8 * MS), backend="jax")).workloads[0]
    assert workload.verdict == "at-ceiling"
    shares = {part.part: part.share for part in workload.breakdown}
    assert shares["step"] > 0.9


def test_code_between_the_calls_of_a_loop_is_not_called_healthy() -> None:
    workload = diagnose(recording(jitted_loop(3 * MS), backend="jax")).workloads[0]
    assert workload.verdict == "host-bound"
    assert "your own code around the step" in workload.sentence


def test_all_input_cured_gives_at_least_what_one_cure_gives() -> None:
    # One cure may save the wait for an epoch's first batch too, which no step shows.
    seen = view(slow_input())
    assert seen.input_gain is not None
    priced = Interval(seen.input_gain.value * 1.5, 2.0, seen.input_gain.value * 2)
    finding = Finding("IN001", "x", None, "", priced, Cure("advice", ""))
    other = replace(finding, rule="CB001", gain=priced.scaled(3.0))
    ceiling = whole._ceiling(seen, (finding, other))
    assert ceiling is not None
    assert ceiling.gain == priced
    assert whole._ceiling(seen, ()).gain == seen.input_gain
