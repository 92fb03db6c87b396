from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fitdoctor.contract.records import Event, Probe
from fitdoctor.diagnosis import diagnose
from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.rules.compilation import retracing, shape_recompilation
from fitdoctor.rules.environment import (
    memory_pressure,
    slower_backend,
    slows_down,
    thread_quota_mismatch,
)
from synthetic import MS, fit_workload, recording, view, windows


class TestThreads:
    def tried(self, as_is: list[float], changed: list[float]):
        probes = {
            "threads": {"asked": 32, "allowed": 1, "backend": "tensorflow"},
            "fresh_threads": {"as_is": as_is, "changed": changed, "forced": {"threads": 1}},
        }
        return view(fit_workload(probes=probes))

    def test_silent_without_a_trial(self) -> None:
        assert thread_quota_mismatch.RULE.detect(view(fit_workload())) is None

    def test_silent_where_the_trial_shows_nothing(self) -> None:
        assert (
            thread_quota_mismatch.RULE.detect(self.tried([10 * MS, 10 * MS], [9.8 * MS, 9.9 * MS]))
            is None
        )

    def test_silent_where_the_runs_disagree(self) -> None:
        assert (
            thread_quota_mismatch.RULE.detect(self.tried([10 * MS, 14 * MS], [10.5 * MS, 9 * MS]))
            is None
        )

    def test_the_measured_ratio(self) -> None:
        finding = thread_quota_mismatch.RULE.detect(
            self.tried([20 * MS, 19 * MS], [10 * MS, 10 * MS])
        )
        assert finding is not None
        assert finding.gain.value == pytest.approx(1.95, rel=0.02)
        assert "32 threads compute on 1 allowed core;" in finding.message


class TestBackend:
    def tried(self, changed: float, **more: Any):
        probes = {"fresh_jax": {"as_is": [10 * MS, 10 * MS], "changed": [changed] * 2}, **more}
        return view(fit_workload(probes=probes))

    def test_silent_where_the_other_is_no_faster(self) -> None:
        assert slower_backend.RULE.detect(self.tried(9 * MS)) is None

    def test_the_measured_ratio(self) -> None:
        finding = slower_backend.RULE.detect(self.tried(4 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2.5, rel=0.02)
        assert finding.cure.summary == "KERAS_BACKEND=jax"


def growing(factor: float, *, jump: bool = False):
    """600 steps whose time grows evenly, or jumps once, to `factor` times the first."""
    workload = fit_workload(steps=600)
    block = workload.blocks[0]
    times, steps, t = [], [], 10**9
    for i in range(600):
        share = (i >= 300) if jump else i / 599
        step = round(10 * MS * (1 + (factor - 1) * share))
        times.append(t)
        steps.append(step)
        t += step
    return view(replace(workload, blocks=(replace(block, t=tuple(times), step=tuple(steps)),)))


class TestSlowsDown:
    def test_silent_on_equal_steps(self) -> None:
        assert slows_down.RULE.detect(growing(1.0)) is None

    def test_silent_on_a_slight_drift(self) -> None:
        assert slows_down.RULE.detect(growing(1.2)) is None

    def test_silent_on_one_jump(self) -> None:
        assert slows_down.RULE.detect(growing(3.0, jump=True)) is None

    def test_steady_growth(self) -> None:
        finding = slows_down.RULE.detect(growing(3.0))
        assert finding is not None
        # The mean is twice the beginning; the first third's median is 4/3 of it.
        assert finding.gain.value == pytest.approx(2 / (4 / 3), rel=0.05)
        assert finding.evidence["in_callbacks"] is False

    def test_a_callback_whose_work_grows_is_that_callbacks_finding(self) -> None:
        grown = growing(3.0)
        block = grown.recorded.blocks[0]
        inside = replace(block, callbacks=tuple(ns - 9 * MS for ns in block.step))
        found = slows_down.RULE.detect(view(replace(grown.recorded, blocks=(inside,))))
        assert found is not None
        assert found.evidence["in_callbacks"] is True
        callback = replace(found, rule="CB001")
        assert one_cause_each((callback, found)) == (callback,)
        assert one_cause_each((found,)) == (found,)


class TestMemory:
    def pressed(self, share: float, rate: float, slow: int):
        workload = fit_workload(steps=200)
        block = workload.blocks[0]
        times, t = [], 10**9
        for i in range(200):
            times.append(t)
            t += slow if i >= 100 else 10 * MS
        made = view(replace(workload, blocks=(replace(block, t=tuple(times)),)))
        return replace(made, faulting=((times[100], t, rate),), memory_share=share)

    def test_silent_with_free_memory(self) -> None:
        assert memory_pressure.RULE.detect(self.pressed(0.4, 500, 30 * MS)) is None

    def test_silent_without_faults(self) -> None:
        assert memory_pressure.RULE.detect(self.pressed(0.95, 1, 30 * MS)) is None

    def test_silent_where_faults_cost_nothing(self) -> None:
        assert memory_pressure.RULE.detect(self.pressed(0.95, 500, 10 * MS)) is None

    def test_steps_under_faults_are_slower(self) -> None:
        finding = memory_pressure.RULE.detect(self.pressed(0.95, 500, 30 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2, rel=0.1)


def compiling(shapes: list[str], *, every: int = 4):
    """A JAX fit in which every fourth step compiles for 200 ms."""
    workload = fit_workload(steps=200, period=10 * MS, step=9 * MS, detail={"backend": "jax"})
    block = workload.blocks[0]
    times, steps, events, t = [], [], [], 10**9
    for i in range(200):
        compiles = i % every == 0
        step = 209 * MS if compiles else 9 * MS
        if compiles:
            shape = shapes[(i // every) % len(shapes)]
            events.append(
                Event("compile", t, 200 * MS, 0, i, {"name": "step", "shapes": [shape], "model": 1})
            )
        times.append(t)
        steps.append(step)
        t += step + MS
    return replace(
        workload,
        blocks=(replace(block, t=tuple(times), step=tuple(steps)),),
        events=tuple(events),
    )


class TestShapes:
    def test_silent_without_compiles(self) -> None:
        assert shape_recompilation.RULE.detect(view(fit_workload(), backend="jax")) is None

    def test_one_shape_again_and_again_is_retracing(self) -> None:
        seen = view(compiling(["float32[8, 60]"]), backend="jax")
        assert shape_recompilation.RULE.detect(seen) is None
        assert retracing.RULE.detect(seen) is not None

    def test_many_shapes(self) -> None:
        seen = view(compiling([f"float32[8, {n}]" for n in range(50)]), backend="jax")
        finding = shape_recompilation.RULE.detect(seen)
        assert finding is not None
        assert finding.evidence["shapes"] == 50
        assert finding.gain.value == pytest.approx(60 / 12, rel=0.1)
        assert retracing.RULE.detect(seen) is None

    def only_compiles(self, *, models: int = 1):
        """Every step compiles for a new shape, for each of so many models."""
        shapes = [f"float32[8, {n}]" for n in range(200 // models)]
        workload = compiling(shapes, every=1)
        events = tuple(
            replace(event, detail={**event.detail, "model": i // len(shapes)})
            for i, event in enumerate(workload.events)
        )
        probes = {"frozen_batch": Probe("frozen_batch", "ok", "", windows(2 * MS))}
        return view(replace(workload, events=events, probes=probes), backend="jax")

    def test_where_nothing_but_compiling_is_done_the_frozen_step_is_left(self) -> None:
        finding = shape_recompilation.RULE.detect(self.only_compiles())
        assert finding is not None
        assert finding.gain.value == pytest.approx(210 / 2, rel=0.1)
        # A run of this length also pays for the two shapes that stay.
        assert finding.gain.low < 60

    def test_shapes_that_every_new_model_compiles_stay_in_part(self) -> None:
        once, again = self.only_compiles(), self.only_compiles(models=10)
        first, second = (
            shape_recompilation.RULE.detect(once),
            shape_recompilation.RULE.detect(again),
        )
        assert first is not None
        assert second is not None
        # Two of twenty shapes are compiled for each model all the same.
        assert second.gain.value < 11 < first.gain.value


def test_a_slower_backend_is_the_last_resort() -> None:
    probes = {
        "fresh_jax": {"as_is": [10 * MS] * 2, "changed": [4 * MS] * 2},
        "threads": {"asked": 32, "allowed": 1},
        "fresh_threads": {"as_is": [10 * MS] * 2, "changed": [5 * MS] * 2},
    }
    found = diagnose(recording(fit_workload(probes=probes))).workloads[0].findings
    assert [finding.rule for finding in found] == ["EN002"]
    (edit,) = found[0].cure.edits
    assert "TF_NUM_INTRAOP_THREADS" in edit.names
