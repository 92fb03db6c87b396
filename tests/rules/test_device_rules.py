from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.diagnosis import diagnose
from fitdoctor.rules import en003, en007, mo001, mo006
from fitdoctor.trials.suspicion import suspected
from synthetic import MS, fit_workload, recording, view, windows


def on_gpu(**probes: dict[str, Any]):
    device = {"kind": "gpu", "name": "H200", "transfer_ns": MS // 2}
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
        assert en003.RULE.detect(view(on_gpu())) is None

    def test_silent_where_the_gpu_is_faster(self) -> None:
        trial = {"as_is": [MS, MS], "changed": [3 * MS, 3 * MS]}
        assert en003.RULE.detect(view(on_gpu(fresh_cpu=trial))) is None

    def test_the_measured_ratio(self) -> None:
        trial = {"as_is": [2 * MS, 2 * MS], "changed": [MS, MS]}
        finding = en003.RULE.detect(view(on_gpu(fresh_cpu=trial)))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2, rel=0.02)

    def test_short_steps_on_a_gpu_are_tried_on_the_cpu(self) -> None:
        (trial,) = suspected(recording(on_gpu()))
        assert trial.forced == {"device": "cpu"}

    def test_long_steps_are_not(self) -> None:
        assert suspected(recording(on_gpu(frozen_batch=windows(50 * MS)))) == []


class TestTransfer:
    def test_silent_on_a_cpu(self) -> None:
        workload = on_gpu(device={"kind": "cpu"})
        assert en007.RULE.detect(view(workload)) is None

    def test_silent_where_the_copy_does_not_explain_it(self) -> None:
        workload = on_gpu(device={"kind": "gpu", "transfer_ns": MS // 20})
        assert en007.RULE.detect(view(workload)) is None

    def test_silent_on_loaders_which_have_rules_of_their_own(self) -> None:
        assert en007.RULE.detect(view(on_gpu(input={"kind": "PyDataset"}))) is None

    def test_the_step_with_its_batch_on_the_device(self) -> None:
        finding = en007.RULE.detect(view(on_gpu()))
        assert finding is not None
        assert finding.gain.value == pytest.approx(4, rel=0.05)
        assert finding.gain.low < 1.5


class TestPrecisionAndRecurrence:
    def test_silent_where_nothing_was_tried(self) -> None:
        assert mo001.RULE.detect(view(on_gpu())) is None
        assert mo006.RULE.detect(view(on_gpu())) is None

    def test_half_precision_that_gains(self) -> None:
        workload = fit_workload(
            period=20 * MS,
            step=20 * MS,
            probes={"frozen_batch": windows(20 * MS), "step_bfloat16": windows(8 * MS)},
        )
        finding = mo006.RULE.detect(view(workload))
        assert finding is not None
        assert finding.gain.value == pytest.approx(2.5, rel=0.05)

    @pytest.mark.parametrize(("fused", "found"), [(9.5, False), (5.0, True)])
    def test_recurrent_dropout(self, fused: float, found: bool) -> None:
        workload = fit_workload(
            probes={
                "frozen_batch": windows(10 * MS),
                "copy_as_is": windows(10 * MS),
                "copy_fused": windows(fused * MS),
            }
        )
        assert (mo001.RULE.detect(view(workload)) is not None) == found


def test_an_unused_gpu_is_said() -> None:
    workload = fit_workload(
        probes={"device": {"kind": "cpu", "built_for_gpu": False}, "frozen_batch": windows(9 * MS)}
    )
    made = recording(workload)
    made.machine["accelerators"] = [{"name": "H200"}]
    health = diagnose(made).workloads[0].health
    assert any("there is a GPU in this machine" in item.message for item in health)
