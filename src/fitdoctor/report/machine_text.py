"""`fitdoctor machine` on the terminal: the machine's best rates, and what disturbs them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from fitdoctor.contract.ceilings import Ceilings, DiskRate
from fitdoctor.contract.records import Machine
from fitdoctor.units import duration, size

NOT_MEASURED = "not measured"
_HOUR_S, _DAY_S = 3600.0, 86400.0


def machine_text(
    machine: Machine,
    governors: Sequence[str],
    rates: Sequence[Ceilings],
    disk: DiskRate | None,
    advice: Sequence[str],
) -> str:
    """The screen."""
    lines = [*_cores(machine, governors), ""]
    lines += list(_rates(rates)) if rates else ["  No backend of Keras is installed here."]
    lines.append(f"  {'disk read':<26}{_disk(disk)}")
    lines.append("")
    if advice:
        lines.append("  Before you measure:")
        lines += [f"    - {one}" for one in advice]
    else:
        lines.append("  Nothing disturbs measurements right now.")
    return "\n".join(lines) + "\n"


def _cores(machine: Machine, governors: Sequence[str]) -> Iterator[str]:
    limit = machine.cgroup_cpus
    may_use = machine.affinity if machine.affinity is not None else machine.cpus
    quota = "no quota" if limit is None else f"a quota of {limit:g}"
    yield f"  {machine.cpus or '?'} cores, {may_use or '?'} allowed, {quota}; {_memory(machine)}"
    yield f"  frequency governor: {', '.join(governors) or 'not known'}"
    for one in machine.accelerators:
        memory = "" if one.memory_bytes is None else f", {size(one.memory_bytes)}"
        yield f"  accelerator: {one.name or 'unknown'}{memory}"
    if not machine.accelerators:
        yield f"  no accelerator ({machine.accelerators_note or 'NVML reports none'})"


def _memory(machine: Machine) -> str:
    limits = [one for one in (machine.memory_bytes, machine.cgroup_memory_bytes) if one]
    return f"{size(min(limits))} of memory" if limits else "memory not known"


def _rates(rates: Sequence[Ceilings]) -> Iterator[str]:
    rows: list[tuple[str, list[str]]] = [
        ("best rates with", [one.backend for one in rates]),
        (
            "matrix product, float32",
            [_flops(one.matmul_flops_per_s.get("float32")) for one in rates],
        ),
        (
            "matrix product, bfloat16",
            [_flops(one.matmul_flops_per_s.get("bfloat16")) for one in rates],
        ),
        ("convolution, trained", [_flops(one.conv_flops_per_s) for one in rates]),
        ("memory", [_bytes(one.bytes_per_s) for one in rates]),
        ("start of an operation", [_time(one.op_start_ns) for one in rates]),
        ("the same from Python", [_time(one.eager_op_ns) for one in rates]),
        ("one Python call", [_time(one.python_call_ns) for one in rates]),
        ("measured", [_age(one) for one in rates]),
    ]
    if any(one.host_to_device_bytes_per_s for one in rates):
        rows.insert(
            5, ("copy to the device", [_bytes(o.host_to_device_bytes_per_s) for o in rates])
        )
    for name, values in rows:
        yield f"  {name:<26}" + "".join(f"{value:<18}" for value in values).rstrip()


def _flops(rate: float | None) -> str:
    if rate is None:
        return NOT_MEASURED
    return f"{rate / 1e12:.1f} TFLOP/s" if rate >= 1e12 else f"{rate / 1e9:.0f} GFLOP/s"


def _bytes(rate: float | None) -> str:
    return NOT_MEASURED if rate is None else f"{size(rate)}/s"


def _time(ns: float | None) -> str:
    return NOT_MEASURED if ns is None else duration(ns)


def _age(one: Ceilings) -> str:
    age = max(0.0, time.time() - one.measured_unix_s)
    if age < _HOUR_S:
        text = f"{age / 60:.0f} min ago"
    elif age < _DAY_S:
        text = f"{age / _HOUR_S:.0f} h ago"
    else:
        text = f"{age / _DAY_S:.0f} days ago"
    return text if one.is_quiet else f"{text}, busy"


def _disk(disk: DiskRate | None) -> str:
    return NOT_MEASURED if disk is None else f"{size(disk.bytes_per_s)}/s in {disk.folder}"
