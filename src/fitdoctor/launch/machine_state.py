"""What on this machine makes measurements unsteady, and what to change before measuring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from fitdoctor.contract.records import Machine
from fitdoctor.launch.sampler import describe_machine

CPU_FOLDER = Path("/sys/devices/system/cpu")
STEADY_GOVERNORS = frozenset({"performance"})
# A process that uses this share of a core is a neighbour.
NEIGHBOUR_SHARE = 0.1
MOST_NEIGHBOURS = 3
WATCH_S = 0.5
# Swap in use beyond this many bytes may be read back while training.
SWAPPED_BYTES = 1 << 26


@dataclass(frozen=True)
class Neighbour:
    """Another process that computes."""

    pid: int
    name: str
    cores: float


@dataclass(frozen=True)
class MachineState:
    """The machine as it is now."""

    machine: Machine
    governors: tuple[str, ...] = ()  # of the cores; empty where the system does not say
    neighbours: tuple[Neighbour, ...] = ()
    swap_bytes: int = 0
    on_battery: bool | None = None
    advice: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {
            "governors": list(self.governors),
            "neighbours": [vars(one) for one in self.neighbours],
            "swap_bytes": self.swap_bytes,
            "on_battery": self.on_battery,
            "advice": list(self.advice),
        }


def machine_state() -> MachineState:
    """Look at the machine for half a second."""
    battery = _battery()
    state = MachineState(
        machine=describe_machine(),
        governors=governors(),
        neighbours=tuple(_neighbours()),
        swap_bytes=int(psutil.swap_memory().used),
        on_battery=battery,
    )
    return MachineState(**{**vars(state), "advice": tuple(advice(state))})


def governors(folder: Path = CPU_FOLDER) -> tuple[str, ...]:
    """The frequency governors in use, each once."""
    found: set[str] = set()
    for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor"):
        try:
            found.add(path.read_text(encoding="utf-8").strip())
        except OSError:
            continue
    return tuple(sorted(found))


def advice(state: MachineState) -> Iterator[str]:
    """What to change before measuring, the most important first."""
    machine = state.machine
    for one in state.neighbours:
        yield f"{one.name} (process {one.pid}) uses {one.cores:.1f} cores: end it, or wait for it"
    quota, affinity, cpus = machine.cgroup_cpus, machine.affinity, machine.cpus
    if quota is not None and cpus is not None and quota < cpus:
        yield f"a quota allows {quota:g} of {cpus} cores: ask for more, or expect throttling"
    if affinity is not None and cpus is not None and affinity < cpus:
        yield f"this process may run on {affinity} of {cpus} cores only (taskset, a scheduler)"
    slow = [name for name in state.governors if name not in STEADY_GOVERNORS]
    if slow:
        yield (
            f"the frequency governor is {slow[0]}: sudo cpupower frequency-set -g performance "
            "makes times steadier"
        )
    if state.swap_bytes > SWAPPED_BYTES:
        yield f"{state.swap_bytes / 1e9:.1f} GB are swapped out: free memory before measuring"
    if state.on_battery:
        yield "the machine runs on its battery, with lower clocks: plug it in"


def _neighbours() -> list[Neighbour]:
    own = psutil.Process()
    family = {own.pid, *(one.pid for one in own.parents())}
    processes = [one for one in psutil.process_iter() if one.pid not in family]
    for process in processes:
        _cores(process)
    psutil.cpu_percent(interval=WATCH_S)
    found = []
    for process in processes:
        cores = _cores(process)
        if cores is not None and cores >= NEIGHBOUR_SHARE:
            found.append(Neighbour(process.pid, _name(process), round(cores, 2)))
    return sorted(found, key=lambda one: -one.cores)[:MOST_NEIGHBOURS]


def _cores(process: psutil.Process) -> float | None:
    """Cores that it used since this was asked last."""
    try:
        return float(process.cpu_percent()) / 100.0
    except psutil.Error:
        return None


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:
        return "a process"


def _battery() -> bool | None:
    sensor = getattr(psutil, "sensors_battery", None)
    battery = sensor() if sensor is not None else None
    return None if battery is None else not battery.power_plugged
