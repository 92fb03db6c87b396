"""CPU, memory and accelerators beside the steps, from the sampler's records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fitdoctor.contract.records import Recording
from fitdoctor.report.html.thinning import rounded, thin

_S = 1e-9
_GB = 1e-9
_PERCENT = 100.0

Sample = dict[str, Any]


def resources_charts(recording: Recording, t0: int) -> list[dict[str, Any]]:
    """One plot per resource that was sampled; what was not is not there."""
    samples = [s for s in recording.samples if isinstance(s.get("t"), int)]
    if len(samples) < 2:
        return []
    x = [(s["t"] - t0) * _S for s in samples]
    charts = [
        _chart(
            "cpu",
            "CPU, cores in use",
            x,
            [
                ("this training", _own_cores(samples)),
                ("whole machine", [_machine_cores(s) for s in samples]),
            ],
        ),
        _chart("memory", "Memory, GB", x, [("this training", [_memory(s) for s in samples])]),
    ]
    devices = max((len(s.get("gpu") or ()) for s in samples), default=0)
    charts.append(_chart("gpu", "GPU, % busy", x, _devices(samples, devices, "util", 1.0)))
    charts.append(_chart("gpu_memory", "GPU memory, GB", x, _devices(samples, devices, "mem", _GB)))
    charts.append(
        _chart("gpu_clock", "GPU clock, MHz", x, _devices(samples, devices, "clock", 1.0))
    )
    charts.append(_chart("gpu_power", "GPU power, W", x, _devices(samples, devices, "power", 1.0)))
    return [chart for chart in charts if chart is not None]


def _chart(
    name: str, title: str, x: list[float], series: Sequence[tuple[str, list[float | None]]]
) -> dict[str, Any] | None:
    known = [(label, y) for label, y in series if any(value is not None for value in y)]
    if not known:
        return None
    thinned = [(label, thin(x, y)) for label, y in known]
    return {
        "name": name,
        "title": title,
        "x": rounded(thinned[0][1].x, 7),
        "group": thinned[0][1].group,
        "series": [{"label": label, "y": rounded(each.middle)} for label, each in thinned],
    }


def _own_cores(samples: list[Sample]) -> list[float | None]:
    """CPU time between two samples over the time between them; the first has none before it."""
    cores: list[float | None] = [None]
    for before, after in itertools.pairwise(samples):
        used, elapsed = _cpu(after), after["t"] - before["t"]
        earlier = _cpu(before)
        known = used is not None and earlier is not None and elapsed > 0
        cores.append(max(0.0, used - earlier) / elapsed if known else None)  # type: ignore[operator]
    return cores


def _cpu(sample: Sample) -> float | None:
    return _sum(sample.get("cpu_ns"), sample.get("children_cpu_ns"))


def _memory(sample: Sample) -> float | None:
    total = _sum(sample.get("rss"), sample.get("children_rss"))
    return None if total is None else total * _GB


def _sum(own: Any, children: Any) -> float | None:
    return None if own is None else float(own) + float(children or 0)


def _machine_cores(sample: Sample) -> float | None:
    cores = sample.get("cores")
    return sum(float(c) for c in cores) / _PERCENT if cores else None


def _devices(
    samples: list[Sample], devices: int, key: str, scale: float
) -> list[tuple[str, list[float | None]]]:
    def reader(index: int) -> Callable[[Sample], float | None]:
        def read(sample: Sample) -> float | None:
            gpus = sample.get("gpu") or ()
            value = gpus[index].get(key) if index < len(gpus) else None
            return None if value is None else float(value) * scale

        return read

    return [(f"GPU {i}", [reader(i)(s) for s in samples]) for i in range(devices)]
