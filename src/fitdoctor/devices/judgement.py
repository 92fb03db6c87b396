"""What the runs on each device say together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.start_up import StartUp, start_up
from fitdoctor.contract.evidence.device import DeviceFacts, DeviceSweep
from fitdoctor.contract.records import Recording
from fitdoctor.devices.crossover import Crossover, break_even_steps, crossover, ratio_at
from fitdoctor.intervals import Interval


@dataclass(frozen=True)
class DeviceRun:
    """The user's fit on one device."""

    name: str  # cpu or gpu, as asked for
    device: DeviceFacts
    rows: int
    steps: dict[int, Interval]  # nanoseconds per step by batch size
    real_step_ns: float | None  # of the training itself, input included
    transfer_ns: float | None
    batch_bytes: int
    start: StartUp | None
    planned_steps: int
    ended: str | None
    initialisation_ns: int | None = None  # of the device alone, in a process of its own

    @property
    def outside_ns(self) -> float:
        """What training takes per step beside the step on a frozen batch: data, copies, Keras."""
        frozen = self.steps.get(self.rows)
        if self.real_step_ns is None or frozen is None:
            return 0.0
        return max(0.0, self.real_step_ns - frozen.value)

    @property
    def pace(self) -> dict[int, Interval]:
        """Nanoseconds per training step by batch size, with what is outside the frozen step.

        Measured at the user's batch size; the cost of starting a step and of sending a batch
        hardly depends on its size.
        """
        beside = Interval.exact(self.outside_ns)
        return {size: step + beside for size, step in self.steps.items()}

    def to_json(self) -> dict[str, Any]:
        pace = self.pace
        return {
            "device": asdict(self.device),
            "batch_size": self.rows,
            "sweep": [
                {
                    "batch_size": size,
                    "frozen_step_ns": round(ns.value),
                    "step_ns": round(pace[size].value),
                    "low": round(pace[size].low),
                    "high": round(pace[size].high),
                }
                for size, ns in sorted(self.steps.items())
            ],
            "real_step_ns": self.real_step_ns,
            "transfer_ns": self.transfer_ns,
            "batch_bytes": self.batch_bytes,
            "start_up": self.start.to_json() if self.start else None,
            "initialisation_ns": self.initialisation_ns,
            "planned_steps": self.planned_steps,
            "ended": self.ended,
        }


@dataclass(frozen=True)
class Judgement:
    """Which device, from where on, and after how long."""

    runs: dict[str, DeviceRun]
    ratio: Interval | None  # CPU over GPU at the user's batch size
    crossover: Crossover | None
    break_even: float | None  # steps; None where the GPU is no faster, or was not run
    better: str | None
    reasons: tuple[str, ...] = ()  # what could not be measured, and why

    def to_json(self) -> dict[str, Any]:
        steps, cpu = self.break_even, self.runs.get("cpu")
        return {
            "schema": 1,
            "devices": {name: run.to_json() for name, run in self.runs.items()},
            "cpu_over_gpu": self.ratio.to_json() if self.ratio else None,
            "crossover": asdict(self.crossover) if self.crossover else None,
            "break_even_steps": steps,
            "break_even_rows": None if steps is None or cpu is None else steps * cpu.rows,
            "better": self.better,
            "not_measured": list(self.reasons),
        }


def device_run(name: str, recording: Recording) -> DeviceRun | str:
    """What one recording says of its device, or why it says nothing."""
    swept = [(w, found) for w in recording.workloads if (found := w.found(DeviceSweep))]
    if not swept:
        probes = (probe for w in recording.workloads for probe in w.probes.values())
        failed = (probe.reason for probe in probes if probe.name == "device_sweep")
        return next(failed, "the script did not come to a fit that could be swept")
    # Of several fits, the one that training is about.
    workload, sweep = max(swept, key=lambda pair: sum(call.dur for call in pair[0].calls))
    times = {int(size): from_windows(one.ns) for size, one in sweep.sizes.items()}
    steps = {size: step for size, step in times.items() if step is not None}
    view = view_of(recording, workload)
    return DeviceRun(
        name=name,
        device=sweep.device,
        rows=sweep.rows,
        steps=steps,
        real_step_ns=view.costs.total.value if view is not None else None,
        transfer_ns=sweep.transfer_ns,
        batch_bytes=sweep.batch_bytes,
        start=start_up(recording),
        planned_steps=view.planned_steps if view is not None else 0,
        ended=sweep.ended,
    )


def judge(
    runs: dict[str, DeviceRun], reasons: tuple[str, ...], *, tried: int | None = None
) -> Judgement:
    """Compare the CPU with the GPU where both ran; `tried` is how many devices there were."""
    cpu, gpu = runs.get("cpu"), runs.get("gpu")
    if cpu is None or gpu is None:
        # One device of two that could be measured is not the better one.
        only = next(iter(runs), None) if tried in (None, 1) else None
        return Judgement(runs, None, None, None, only, reasons)
    ratio = ratio_at(cpu.pace, gpu.pace, cpu.rows)
    paid = None
    if cpu.start is not None and gpu.start is not None and ratio is not None:
        steps = cpu.pace[cpu.rows].value, gpu.pace[cpu.rows].value
        paid = break_even_steps(cpu.start.total, gpu.start.total, *steps)
    better = None
    if ratio is not None:
        is_longer = paid is not None and cpu.planned_steps > 0 and paid > cpu.planned_steps
        better = "cpu" if ratio.value < 1 or is_longer else "gpu"
    return Judgement(runs, ratio, crossover(cpu.pace, gpu.pace), paid, better, reasons)
