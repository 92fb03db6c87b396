"""A GPU that the backend cannot use: why, and the command that repairs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fitdoctor.contract.evidence.device import Device, DeviceFacts
from fitdoctor.contract.records import KerasFacts, Machine, RecordedWorkload

START = "there is a GPU in this machine, but Keras computes on the CPU"
# Values of CUDA_VISIBLE_DEVICES that hide every device.
HIDES_ALL = ("", "-1", "NoDevFiles", "none", "None")
# CUDA's own numbers: 12040 is 12.4.
_PER_MAJOR = 1000
# The oldest CUDA that JAX still has an extra for.
OLDEST_JAX_CUDA = 12
NEWEST_JAX_CUDA = 13


@dataclass(frozen=True)
class Repair:
    """What is wrong, and what to type."""

    message: str
    command: str = ""
    level: Literal["info", "warning"] = "warning"


def missing_gpu(machine: Machine, keras: KerasFacts, workload: RecordedWorkload) -> Repair | None:
    """Why training is on the CPU; None where it is not, or where there is no GPU."""
    device = workload.found(Device)
    if device is None or device.kind != "cpu":
        return None
    if not machine.accelerators:
        return _driver_missing(machine)
    hidden = _hidden(device)
    if device.built_for_gpu is False:
        install = _install(machine, keras, device.package)
        more = f"; {hidden.message} too" if hidden is not None else ""
        what = device.package or "this build of the backend"
        return Repair(f"{START}: {what} has no GPU support{more}", install)
    if hidden is not None:
        return Repair(f"{START}: {hidden.message}", hidden.command)
    return _driver_too_old(machine, device) or _not_loaded(machine, keras, device)


def _driver_missing(machine: Machine) -> Repair | None:
    """A GPU on the bus that NVML cannot reach: no driver, or a container without it."""
    if not machine.gpus_on_bus:
        return None
    reason = f" ({machine.accelerators_note})" if machine.accelerators_note else ""
    return Repair(
        f"there is an NVIDIA GPU in this machine, but its driver does not answer{reason}: install "
        "the driver, or start the container with --gpus all",
        "nvidia-smi",
        "info",  # a container without its GPUs may be meant to be one
    )


def _hidden(device: DeviceFacts) -> Repair | None:
    visible, platforms = device.visible_devices, device.platforms
    if visible is not None and visible.strip() in HIDES_ALL:
        value = visible.strip() or "empty"
        return Repair(f"CUDA_VISIBLE_DEVICES is {value}", "unset CUDA_VISIBLE_DEVICES")
    if platforms is not None and platforms.strip() == "cpu":
        return Repair("JAX_PLATFORMS is cpu", "unset JAX_PLATFORMS")
    return None


def _driver_too_old(machine: Machine, device: DeviceFacts) -> Repair | None:
    """CUDA promises that a driver runs every build of its own major version."""
    supported, needed = machine.driver_cuda, device.build_cuda
    if supported is None or needed is None or not needed.partition(".")[0].isdigit():
        return None
    major = supported // _PER_MAJOR
    if int(needed.partition(".")[0]) <= major:
        return None
    return Repair(
        f"{START}: the driver {machine.driver or ''} supports CUDA {major}, and this build needs "
        f"CUDA {needed}: update the driver, or install a build for CUDA {major}".replace("  ", " "),
        "nvidia-smi",
    )


def _not_loaded(machine: Machine, keras: KerasFacts, device: DeviceFacts) -> Repair:
    """The build could use it: its libraries are missing, or the script chose the CPU."""
    seen = ", ".join(device.seen) or "the CPU"
    if any("gpu" in one.lower() or "cuda" in one.lower() for one in device.seen):
        return Repair(f"{START}: the script places its work there ({seen} are visible)")
    if keras.backend == "tensorflow":
        text = f"{START}: it sees only {seen}; CUDA's libraries were not found"
        return Repair(text, _install(machine, keras))
    if keras.backend == "jax":
        text = f"{START}: it sees only {seen}; the CUDA plugin did not load"
        return Repair(text, _install(machine, keras))
    return Repair(f"{START}: it sees only {seen}", "nvidia-smi")


def _install(machine: Machine, keras: KerasFacts, package: str | None = None) -> str:
    """The command, or one per line, that brings the same version with GPU support."""
    known = keras.backend_version not in (None, "unknown")
    version = f"=={str(keras.backend_version).partition('+')[0]}" if known else ""
    if keras.backend == "torch":
        # A build with "+cpu" satisfies the version, so pip would keep it.
        return f"pip install --force-reinstall torch{version}"
    if keras.backend == "jax":
        return f"pip install 'jax[cuda{_jax_cuda(machine)}]{version}'"
    install = f"pip install 'tensorflow[and-cuda]{version}'"
    name = (package or "").partition(" ")[0]
    # Both bring the same module.
    return f"pip uninstall -y {name}\n{install}" if name.endswith("-cpu") else install


def _jax_cuda(machine: Machine) -> int:
    if machine.driver_cuda is None:
        return OLDEST_JAX_CUDA
    return max(OLDEST_JAX_CUDA, min(NEWEST_JAX_CUDA, machine.driver_cuda // _PER_MAJOR))
