"""CPU, memory and accelerators beside the steps, from the sampler's records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fitdoctor.contract.records import DeviceSample, Recording, Sample
from fitdoctor.report.html.thinning import RESOURCE_POINTS, rounded, thin

_S = 1e-9
_GB = 1e-9
_PERCENT = 100.0

_Reader = Callable[[DeviceSample], float | None]


def resources_charts(recording: Recording, t0: int) -> list[dict[str, Any]]:
    """One plot per resource that was sampled; what was not is not there."""
    samples = recording.samples
    if len(samples) < 2:
        return []
    x = [(s.t - t0) * _S for s in samples]
    machine = [sum(s.cores) / _PERCENT if s.cores else None for s in samples]
    cpu = [("this training", _own_cores(samples)), ("whole machine", machine)]
    memory = [("this training", [_memory(s) for s in samples])]
    charts = [
        _chart("cpu", "CPU, cores in use", x, cpu),
        _chart("memory", "Memory, GB", x, memory),
        *(_chart(name, title, x, _devices(samples, read)) for name, title, read in _OF_DEVICES),
    ]
    return [chart for chart in charts if chart is not None]


def _chart(
    name: str, title: str, x: list[float], series: Sequence[tuple[str, list[float | None]]]
) -> dict[str, Any] | None:
    known = [(label, y) for label, y in series if any(v is not None for v in y)]
    thinned = [(label, thin(x, y, RESOURCE_POINTS)) for label, y in known]
    if not thinned:
        return None
    return {
        "name": name,
        "title": title,
        "x": rounded(thinned[0][1].x, 7),
        "group": thinned[0][1].group,
        "series": [{"label": label, "y": rounded(each.middle)} for label, each in thinned],
    }


def _own_cores(samples: Sequence[Sample]) -> list[float | None]:
    """CPU time between two samples over the time between them; the first has none before it."""
    cores: list[float | None] = [None]
    used = [_sum(sample.cpu_ns, sample.children_cpu_ns) for sample in samples]
    for (before, first), (after, second) in itertools.pairwise(zip(samples, used, strict=True)):
        elapsed = after.t - before.t
        known = first is not None and second is not None and elapsed > 0
        cores.append(max(0.0, second - first) / elapsed if known else None)  # type: ignore[operator]
    return cores


def _memory(sample: Sample) -> float | None:
    total = _sum(sample.rss, sample.children_rss)
    return None if total is None else total * _GB


def _sum(own: int | None, children: int | None) -> float | None:
    return None if own is None else float(own) + float(children or 0)


def _devices(samples: Sequence[Sample], read: _Reader) -> list[tuple[str, list[float | None]]]:
    count = max((len(sample.gpu or ()) for sample in samples), default=0)

    def at(sample: Sample, index: int) -> float | None:
        devices = sample.gpu or ()
        return read(devices[index]) if index < len(devices) else None

    return [(f"GPU {i}", [at(sample, i) for sample in samples]) for i in range(count)]


def _device_memory(device: DeviceSample) -> float | None:
    return None if device.mem is None else device.mem * _GB


_OF_DEVICES: tuple[tuple[str, str, _Reader], ...] = (
    ("gpu", "GPU, % busy", lambda device: device.util),
    ("gpu_memory", "GPU memory, GB", _device_memory),
    ("gpu_clock", "GPU clock, MHz", lambda device: device.clock),
    ("gpu_power", "GPU power, W", lambda device: device.power),
)
