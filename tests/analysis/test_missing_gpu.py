"""Why a GPU is not used, and the command that repairs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fitdoctor.analysis.missing_gpu import Repair, missing_gpu
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.records import Accelerator, KerasFacts, Machine
from fitdoctor.diagnosis import diagnose
from fitdoctor.report.terminal import render
from synthetic import fit_workload, recording, with_gpu

GPU = Machine(accelerators=(Accelerator(name="H200"),), driver="570.86", driver_cuda=12080)
VERSIONS = {"tensorflow": "2.21.0", "torch": "2.13.0+cpu", "jax": "0.10.2"}


def repair(backend: str, machine: Machine = GPU, **facts: Any) -> Repair | None:
    keras = KerasFacts("3.15.1", backend, VERSIONS[backend])
    return missing_gpu(machine, keras, fit_workload(found=[Device(**facts)]))


def test_silent_without_a_gpu() -> None:
    assert repair("torch", Machine(), built_for_gpu=False) is None
    assert repair("torch", Machine(gpus_on_bus=0), built_for_gpu=False) is None


def test_silent_where_the_gpu_is_used() -> None:
    assert repair("torch", kind="gpu") is None


def test_silent_where_the_device_was_not_looked_at() -> None:
    assert missing_gpu(GPU, KerasFacts(), fit_workload()) is None


@pytest.mark.parametrize(
    ("backend", "package", "command"),
    [
        (
            "tensorflow",
            "tensorflow-cpu 2.21.0",
            "pip uninstall -y tensorflow-cpu\npip install 'tensorflow[and-cuda]==2.21.0'",
        ),
        ("torch", "torch 2.13.0+cpu", "pip install --force-reinstall torch==2.13.0"),
        ("jax", "jax 0.10.2", "pip install 'jax[cuda12]==0.10.2'"),
    ],
)
def test_a_wheel_for_the_cpu(backend: str, package: str, command: str) -> None:
    found = repair(backend, built_for_gpu=False, package=package)
    assert found is not None
    assert f"{package} has no GPU support" in found.message
    assert found.command == command


def test_the_cuda_of_jax_is_that_of_the_driver() -> None:
    newer = repair("jax", replace(GPU, driver_cuda=13010), built_for_gpu=False)
    unknown = repair("jax", replace(GPU, driver_cuda=None), built_for_gpu=False)
    assert newer is not None and "jax[cuda13]" in newer.command
    assert unknown is not None and "jax[cuda12]" in unknown.command


@pytest.mark.parametrize(("value", "word"), [("", "empty"), ("-1", "-1"), (" ", "empty")])
def test_hidden_devices(value: str, word: str) -> None:
    found = repair("torch", built_for_gpu=True, visible_devices=value)
    assert found is not None
    assert f"CUDA_VISIBLE_DEVICES is {word}" in found.message
    assert found.command == "unset CUDA_VISIBLE_DEVICES"


def test_jax_platforms() -> None:
    found = repair("jax", built_for_gpu=True, platforms="cpu")
    assert found is not None and found.command == "unset JAX_PLATFORMS"


def test_a_driver_that_is_too_old() -> None:
    found = repair("torch", built_for_gpu=True, build_cuda="13.0", seen=("cpu",))
    assert found is not None
    assert "the driver 570.86 supports CUDA 12, and this build needs CUDA 13.0" in found.message


def test_a_driver_of_the_same_major_version_is_new_enough() -> None:
    found = repair("torch", built_for_gpu=True, build_cuda="12.9", seen=("cpu",))
    assert found is not None and "driver" not in found.message


def test_a_driver_that_does_not_answer() -> None:
    machine = Machine(gpus_on_bus=1, accelerators_note="not available: Driver Not Loaded")
    found = repair("tensorflow", machine, built_for_gpu=True)
    assert found is not None
    assert "Driver Not Loaded" in found.message
    assert found.level == "info"


def test_libraries_that_are_missing() -> None:
    found = repair("tensorflow", built_for_gpu=True, seen=("/physical_device:CPU:0",))
    assert found is not None
    assert "CUDA's libraries were not found" in found.message
    assert "tensorflow[and-cuda]==2.21.0" in found.command


def test_a_script_that_chooses_the_cpu_needs_no_installation() -> None:
    found = repair("torch", built_for_gpu=True, seen=("cuda:0",))
    assert found is not None
    assert "the script places its work there" in found.message
    assert found.command == ""


def test_the_command_has_a_line_of_its_own_on_the_screen() -> None:
    device = Device(built_for_gpu=False, package="tensorflow-cpu 2.21.0")
    shown = render(diagnose(with_gpu(recording(fit_workload(found=[device])))), width=60)
    lines = [line.strip() for line in shown.splitlines() if line.startswith("    pip ")]
    assert lines[0] == "pip uninstall -y tensorflow-cpu"
    assert lines[1].startswith("pip install 'tensorflow[and-cuda]")
    assert "tensorflow-cpu 2.21.0 has no" in " ".join(shown.split())
