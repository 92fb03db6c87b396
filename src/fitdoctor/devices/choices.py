"""Which devices there are to try, and how a fresh process is put on one of them."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.records import Machine

# What each backend understands as "no GPU"; set before it is imported.
CPU_ONLY = {"CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}


@dataclass(frozen=True)
class Choice:
    """A device to run on, by the backend's own switches."""

    name: str  # cpu, or gpu
    environment: dict[str, str]


def choices(machine: Machine) -> tuple[Choice, ...]:
    """The CPU, and the GPU where there is one."""
    cpu = Choice("cpu", CPU_ONLY)
    if not machine.accelerators:
        return (cpu,)
    return (cpu, Choice("gpu", {}))
