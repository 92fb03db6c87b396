from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.device import Device, FreshRun
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.options import ForcedSettings
from fitdoctor.diagnosis import diagnose
from fitdoctor.rules.environment.accelerator_unused import RULE
from fitdoctor.trials.suspicion import suspected
from synthetic import MS, cpu_workload, fit_workload, recording, timed, view, with_gpu


def on_gpu_instead(as_is: tuple[float, ...], changed: tuple[float, ...]):
    return view(cpu_workload(("gpu", FreshRun(as_is=as_is, changed=changed))))


class TestFinding:
    def test_silent_without_a_trial(self) -> None:
        assert RULE.detect(view(cpu_workload())) is None

    def test_silent_where_the_gpu_is_no_faster(self) -> None:
        assert RULE.detect(on_gpu_instead((2 * MS,), (3 * MS,))) is None

    def test_the_measured_ratio(self) -> None:
        found = RULE.detect(on_gpu_instead((9 * MS, 9 * MS), (3 * MS, 3 * MS)))
        assert found is not None
        assert found.gain.value == pytest.approx(3, rel=0.02)
        assert found.evidence == {"cpu_ns": 9 * MS, "gpu_ns": 3 * MS}
        (edit,) = found.cure.edits
        assert "JAX_PLATFORMS" in edit.names

    def test_one_clear_pair_is_given_a_range(self) -> None:
        found = RULE.detect(on_gpu_instead((40 * MS,), (4 * MS,)))
        assert found is not None
        assert found.gain.low < 9 < 11 < found.gain.high

    def test_the_page_has_the_threshold(self) -> None:
        assert "is at least 10 % faster per step" in " ".join(RULE.page.split())


class TestTrial:
    def test_nothing_to_try_without_a_gpu(self) -> None:
        assert suspected(recording(cpu_workload())) == []

    def test_nothing_to_try_with_a_build_for_the_cpu(self) -> None:
        workload = cpu_workload(Device(kind="cpu", built_for_gpu=False))
        assert suspected(with_gpu(recording(workload))) == []

    def test_nothing_to_try_for_tiny_steps(self) -> None:
        workload = cpu_workload(timed(FrozenBatch, MS // 5))
        assert suspected(with_gpu(recording(workload))) == []

    def test_a_hidden_gpu_is_tried(self) -> None:
        (trial,) = suspected(with_gpu(recording(cpu_workload())))
        assert (trial.name, trial.forced) == ("fresh_gpu", ForcedSettings(device="gpu"))


def test_an_unused_gpu_is_reported() -> None:
    workload = fit_workload(
        found=[Device(kind="cpu", built_for_gpu=False), timed(FrozenBatch, 9 * MS)]
    )
    health = diagnose(with_gpu(recording(workload))).workloads[0].health
    assert any("there is a GPU in this machine" in item.message for item in health)
