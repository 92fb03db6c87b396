"""A GPU that mostly waits is not healthy, however short the steps look from the host."""

from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.diagnosis import diagnose
from synthetic import MS, fit_workload, recording, timed


def with_device_time(time: DeviceTime):
    workload = fit_workload(found=[timed(FrozenBatch, 9.5 * MS), time])
    (found,) = diagnose(recording(workload)).workloads
    return found


def test_an_idle_gpu_is_no_healthy_training() -> None:
    time = DeviceTime(busy_ns=1.0 * MS, compute_ns=0.9 * MS, copy_ns=0.1 * MS, kernels=400.0)
    found = with_device_time(time)
    assert found.verdict == "host-bound"
    assert "the GPU works 10 % of it" in found.sentence
    assert found.device is not None
    assert found.device.to_json()["busy_share"] == pytest.approx(0.1, rel=0.02)
    assert found.device.copy_ns == pytest.approx(0.1 * MS)


def test_a_busy_gpu_is_healthy() -> None:
    time = DeviceTime(busy_ns=9.0 * MS, compute_ns=9.0 * MS, kernels=400.0)
    assert with_device_time(time).verdict == "at-ceiling"
