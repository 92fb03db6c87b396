from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.diagnosis import diagnose
from fitdoctor.rules.environment import (
    accelerator_slower,
    accelerator_unused,
    devices_not_scaling,
    memory_pressure,
    transfer_bound,
)
from fitdoctor.rules.host import tiny_steps
from fitdoctor.rules.model import dominant_layer, full_precision, unfused_recurrence
from fitdoctor.trials.suspicion import suspected
from synthetic import MS, fit_workload, loader, recording, view, windows


def on_gpu(**probes: dict[str, Any]):
    device = {
        "kind": "gpu",
        "name": "H200",
        "transfer_ns": MS,
        "quarter_transfer_ns": 0.3 * MS,
        "pick_ns": MS // 2,
    }
    return fit_workload(
        period=2 * MS,
        step=2 * MS,
        probes={
            "frozen_batch": windows(MS // 2),
            "device": device,
            "input": {"kind": "arrays"},
            **probes,
        },
    )


class TestAcceleratorSlower:
    def test_silent_without_a_trial(self) -> None:
        assert accelerator_slower.RULE.detect(view(on_gpu())) is None

    def test_silent_where_the_gpu_is_faster(self) -> None:
        trial = {"as_is": [MS, MS], "changed": [3 * MS, 3 * MS]}
        assert accelerator_slower.RULE.detect(view(on_gpu(fresh_cpu=trial))) is None

    def test_the_measured_ratio(self) -> None:
        trial = {"as_is": [2 * MS, 2 * MS], "changed": [MS, MS]}
        finding = accelerator_slower.RULE.detect(view(on_gpu(fresh_cpu=trial)))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2, rel=0.02)
        (edit,) = finding.cure.edits
        assert edit.statement == 'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"'
        assert edit.first

    def test_short_steps_on_a_gpu_are_tried_on_the_cpu(self) -> None:
        (trial,) = suspected(recording(on_gpu()))
        assert trial.forced == {"device": "cpu"}

    def test_long_steps_are_not(self) -> None:
        assert suspected(recording(on_gpu(frozen_batch=windows(50 * MS)))) == []


class TestTransfer:
    def test_silent_on_a_cpu(self) -> None:
        workload = on_gpu(device={"kind": "cpu"})
        assert transfer_bound.RULE.detect(view(workload)) is None

    def test_silent_where_the_copy_does_not_explain_it(self) -> None:
        facts = {"kind": "gpu", "transfer_ns": MS // 20, "quarter_transfer_ns": MS // 80}
        assert transfer_bound.RULE.detect(view(on_gpu(device=facts))) is None

    def test_silent_where_it_is_the_start_of_a_copy_that_takes_the_time(self) -> None:
        facts = {"kind": "gpu", "transfer_ns": MS, "quarter_transfer_ns": 0.9 * MS}
        assert transfer_bound.RULE.detect(view(on_gpu(device=facts))) is None

    def test_silent_where_a_quarter_was_not_copied(self) -> None:
        assert (
            transfer_bound.RULE.detect(view(on_gpu(device={"kind": "gpu", "transfer_ns": MS})))
            is None
        )

    def test_silent_on_loaders_which_have_rules_of_their_own(self) -> None:
        assert transfer_bound.RULE.detect(view(on_gpu(input={"kind": "PyDataset"}))) is None

    def test_a_quarter_of_the_bytes(self) -> None:
        finding = transfer_bound.RULE.detect(view(on_gpu()))
        assert finding is not None
        # 1.5 ms of 2 ms are lost to picking and copying; a quarter of that is left.
        assert finding.gain.value == pytest.approx(2 / (2 - 0.75 * 1.5), rel=0.05)
        assert finding.gain.low < 1.5
        assert finding.gain.high == pytest.approx(4, rel=0.05)


class TestPrecisionAndRecurrence:
    def test_silent_where_nothing_was_tried(self) -> None:
        assert unfused_recurrence.RULE.detect(view(on_gpu())) is None
        assert full_precision.RULE.detect(view(on_gpu())) is None

    def test_half_precision_that_gains(self) -> None:
        workload = fit_workload(
            period=20 * MS,
            step=20 * MS,
            probes={"frozen_batch": windows(20 * MS), "step_bfloat16": windows(8 * MS)},
        )
        finding = full_precision.RULE.detect(view(workload))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2.5, rel=0.05)
        assert [edit.statement for edit in finding.cure.edits] == [finding.cure.summary]

    @pytest.mark.parametrize(("fused", "found"), [(9.5, False), (5.0, True)])
    def test_recurrent_dropout(self, fused: float, found: bool) -> None:
        workload = fit_workload(
            probes={
                "frozen_batch": windows(10 * MS),
                "copy_as_is": windows(10 * MS),
                "copy_fused": windows(fused * MS),
            }
        )
        assert (unfused_recurrence.RULE.detect(view(workload)) is not None) == found

    def test_recurrent_dropout_becomes_dropout_in_the_layers_that_have_it(self) -> None:
        workload = fit_workload(
            probes={
                "frozen_batch": windows(10 * MS),
                "copy_as_is": windows(10 * MS),
                "copy_fused": windows(5 * MS),
                "recurrent_dropout": {"types": ["GRU", "LSTM"]},
            }
        )
        cure = unfused_recurrence.RULE.detect(view(workload)).cure
        assert cure.safety == "unsafe"
        assert [(edit.call, edit.to) for edit in cure.edits] == [
            ("GRU", "dropout"),
            ("LSTM", "dropout"),
        ]


def test_an_unused_gpu_is_said() -> None:
    workload = fit_workload(
        probes={"device": {"kind": "cpu", "built_for_gpu": False}, "frozen_batch": windows(9 * MS)}
    )
    made = recording(workload)
    made.machine["accelerators"] = [{"name": "H200"}]
    health = diagnose(made).workloads[0].health
    assert any("there is a GPU in this machine" in item.message for item in health)


def on_cpu(**probes: dict[str, Any]):
    device = {"kind": "cpu", "built_for_gpu": True, "seen": ["cpu"], "replicas": 1}
    return fit_workload(probes={"frozen_batch": windows(9 * MS), "device": device, **probes})


def with_a_gpu(workload: Any):
    made = recording(workload)
    made.machine["accelerators"] = [{"name": "H200"}]
    return made


class TestAcceleratorUnused:
    def test_silent_without_a_trial(self) -> None:
        assert accelerator_unused.RULE.detect(view(on_cpu())) is None

    def test_silent_where_the_gpu_is_no_faster(self) -> None:
        trial = {"as_is": [2 * MS], "changed": [3 * MS]}
        assert accelerator_unused.RULE.detect(view(on_cpu(fresh_gpu=trial))) is None

    def test_the_measured_ratio(self) -> None:
        trial = {"as_is": [9 * MS, 9 * MS], "changed": [3 * MS, 3 * MS]}
        finding = accelerator_unused.RULE.detect(view(on_cpu(fresh_gpu=trial)))
        assert finding is not None
        assert finding.gain.value == pytest.approx(3, rel=0.02)
        (edit,) = finding.cure.edits
        assert "JAX_PLATFORMS" in edit.names

    def test_one_clear_pair_is_given_a_range(self) -> None:
        trial = {"as_is": [40 * MS], "changed": [4 * MS]}
        finding = accelerator_unused.RULE.detect(view(on_cpu(fresh_gpu=trial)))
        assert finding is not None
        assert finding.gain.low < 9 < 11 < finding.gain.high

    def test_nothing_to_try_without_a_gpu(self) -> None:
        assert suspected(recording(on_cpu())) == []

    def test_nothing_to_try_with_a_build_for_the_cpu(self) -> None:
        facts = {"kind": "cpu", "built_for_gpu": False}
        assert suspected(with_a_gpu(on_cpu(device=facts))) == []

    def test_nothing_to_try_for_tiny_steps(self) -> None:
        assert suspected(with_a_gpu(on_cpu(frozen_batch=windows(MS // 5)))) == []

    def test_a_hidden_gpu_is_tried(self) -> None:
        (trial,) = suspected(with_a_gpu(on_cpu()))
        assert (trial.name, trial.forced) == ("fresh_gpu", {"device": "gpu"})


class TestDevicesNotScaling:
    def several(self, **probes: dict[str, Any]):
        return on_cpu(device={"kind": "cpu", "replicas": 4}, **probes)

    def test_silent_without_a_trial(self) -> None:
        assert devices_not_scaling.RULE.detect(view(self.several())) is None

    def test_silent_where_several_are_faster(self) -> None:
        trial = {"as_is": [MS], "changed": [3 * MS]}
        assert devices_not_scaling.RULE.detect(view(self.several(fresh_one_device=trial))) is None

    def test_nothing_to_try_on_one_device(self) -> None:
        assert suspected(recording(on_cpu())) == []

    def test_several_are_tried_against_one(self) -> None:
        (trial,) = suspected(recording(self.several()))
        assert trial.forced == {"replicas": 1}

    def test_the_measured_ratio(self) -> None:
        trial = {"as_is": [10 * MS, 10 * MS], "changed": [5 * MS, 5 * MS]}
        finding = devices_not_scaling.RULE.detect(view(self.several(fresh_one_device=trial)))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2, rel=0.02)
        assert "on 4 devices" in finding.message


class TestLaunchBound:
    """HO002 where the profiler saw the device."""

    def launching(self, *, busy: float, wide: dict[str, float], backend: str = "torch"):
        sizes = {"8": windows(2 * MS), **{size: windows(ns) for size, ns in wide.items()}}
        probes = {
            "frozen_batch": windows(2 * MS),
            "batch_scaling": {"rows": 32, "sizes": sizes},
            "device_time": {"busy_ns": busy, "compute_ns": busy, "copy_ns": 0.0, "kernels": 70.0},
            "input": {"kind": "arrays"},
        }
        if backend == "jax":
            probes["steps_per_execution_1"] = windows(2 * MS)
            probes["steps_per_execution_10"] = windows(1.5 * MS)
        workload = fit_workload(period=2 * MS, step=2 * MS, probes=probes)
        return view(workload, backend=backend)

    def test_the_larger_batch_that_pays(self) -> None:
        found = tiny_steps.RULE.detect(
            self.launching(busy=MS / 10, wide={"128": 2 * MS, "512": 2.2 * MS})
        )
        assert found is not None
        assert "a batch of 512" in found.cure.summary
        assert found.gain.value == pytest.approx(16 / 1.1, rel=0.05)
        assert (found.cure.safety, found.cure.steps_in_one) == ("unsafe", 16)

    def test_the_smaller_one_where_more_gains_nothing(self) -> None:
        found = tiny_steps.RULE.detect(
            self.launching(busy=MS / 10, wide={"128": 2 * MS, "512": 7 * MS})
        )
        assert found is not None
        assert "a batch of 128" in found.cure.summary

    def test_executions_are_kept_where_the_device_works(self) -> None:
        wide = {"128": 2 * MS, "512": 2.2 * MS}
        found = tiny_steps.RULE.detect(self.launching(busy=1.9 * MS, wide=wide, backend="jax"))
        assert found is not None
        assert "steps_per_execution=10" in found.cure.summary

    def test_an_idle_device_is_worth_more_than_executions(self) -> None:
        wide = {"128": 2 * MS, "512": 2.2 * MS}
        found = tiny_steps.RULE.detect(self.launching(busy=MS / 10, wide=wide, backend="jax"))
        assert found is not None
        assert found.cure.summary.startswith("a batch of 512")
        assert "steps_per_execution=10" in found.cure.summary

    @pytest.mark.parametrize(("wide_transfer", "advised"), [(0.42, "a batch"), (8.0, "compile")])
    def test_starting_a_copy_is_not_the_price_of_its_rows(
        self, wide_transfer: float, advised: str
    ) -> None:
        # The quarter was copied faster by chance; sixteen batches at once tell what rows cost.
        device = {
            "kind": "gpu",
            "transfer_ns": 0.4 * MS,
            "quarter_transfer_ns": 0.1 * MS,
            "pick_ns": 0.01 * MS,
            "wide_times": 16,
            "wide_transfer_ns": wide_transfer * MS,
            "wide_pick_ns": 0.02 * MS,
        }
        sizes = {"8": windows(0.34 * MS), "128": windows(0.35 * MS), "512": windows(0.37 * MS)}
        probes = {
            "frozen_batch": windows(0.34 * MS),
            "batch_scaling": {"rows": 32, "sizes": sizes},
            "device_time": {
                "busy_ns": 0.06 * MS,
                "compute_ns": 1.0,
                "copy_ns": 0.0,
                "kernels": 30.0,
            },
            "device": device,
            "loader_alone": loader(0.17 * MS, user_share=0.0),
            "input": {"kind": "arrays"},
            "steps_per_execution_1": windows(0.5 * MS),
            "steps_per_execution_10": windows(0.3 * MS),
        }
        workload = fit_workload(
            period=round(0.8 * MS), step=round(0.3 * MS), wait=round(0.45 * MS), probes=probes
        )
        found = tiny_steps.RULE.detect(view(workload, backend="jax"))
        assert found is not None
        assert found.cure.summary.startswith(advised)


def test_no_dominant_layer_on_a_gpu() -> None:
    rows = [{"name": "dense", "type": "Dense", "ns": 100, "is_model": False, "is_user": False}]
    workload = on_gpu(layers={"layers": rows, "without_fixed_price": True})
    assert dominant_layer.RULE.detect(view(workload)) is None


def test_an_idle_gpu_is_no_healthy_training() -> None:
    busy = {"busy_ns": 1.0 * MS, "compute_ns": 0.9 * MS, "copy_ns": 0.1 * MS, "kernels": 400.0}
    workload = fit_workload(probes={"frozen_batch": windows(9.5 * MS), "device_time": busy})
    (found,) = diagnose(recording(workload)).workloads
    assert found.verdict == "host-bound"
    assert "the GPU works 10 % of it" in found.sentence
    assert found.device is not None
    assert found.device.to_json()["busy_share"] == pytest.approx(0.1, rel=0.02)
    assert found.device.copy_ns == pytest.approx(0.1 * MS)


def test_a_busy_gpu_is_healthy() -> None:
    busy = {"busy_ns": 9 * MS, "compute_ns": 9 * MS, "copy_ns": 0.0, "kernels": 400.0}
    workload = fit_workload(probes={"frozen_batch": windows(9.5 * MS), "device_time": busy})
    (found,) = diagnose(recording(workload)).workloads
    assert found.verdict == "at-ceiling"


class TestTooLittleDeviceMemory:
    def short_of_room(self, retries: int | None, quarter: float):
        probes = {
            "frozen_batch": windows(40 * MS),
            "device": {"kind": "gpu", "memory_retries": retries, "steps": 100},
            "part_of_batch": {**windows(quarter), "rows": 64, "of_rows": 256},
        }
        return view(fit_workload(period=40 * MS, step=40 * MS, probes=probes), backend="torch")

    def test_silent_without_a_search_for_room(self) -> None:
        assert memory_pressure.RULE.detect(self.short_of_room(None, 5 * MS)) is None
        assert memory_pressure.RULE.detect(self.short_of_room(0, 5 * MS)) is None

    def test_silent_where_room_was_sought_at_the_start_only(self) -> None:
        assert memory_pressure.RULE.detect(self.short_of_room(3, 5 * MS)) is None

    def test_silent_where_smaller_steps_are_no_faster(self) -> None:
        assert memory_pressure.RULE.detect(self.short_of_room(90, 10 * MS)) is None
        assert memory_pressure.RULE.detect(self.short_of_room(90, 14 * MS)) is None

    def test_smaller_steps_do_the_same_work_sooner(self) -> None:
        finding = memory_pressure.RULE.detect(self.short_of_room(90, 5 * MS))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2.0, rel=0.05)
        assert "64 rows instead of 256" in finding.message
        assert finding.cure.safety == "advice"
