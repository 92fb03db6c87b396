"""What a step on the frozen batch consists of: its layers, the optimizer, the rest; they sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fitdoctor.analysis.model_costs import layer_costs, outer_layers
from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

OPTIMIZER = "optimizer update"
REST = "loss, metrics and the rest"


@dataclass(frozen=True)
class StepRow:
    """One part of a step; what is None was not measured or is not known."""

    name: str
    type: str
    ns: float
    share: float  # of the step
    parameters: int | None = None
    flops: float | None = None  # of the forward pass
    rate: float | None = None  # of the machine's best, from 0 to 1
    alone: bool = True  # forward and backward, timed alone; else three times the forward pass

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "ns": round(self.ns),
            "share": round(self.share, 4),
            "parameters": self.parameters,
            "flops": self.flops,
            "rate": None if self.rate is None else round(self.rate, 3),
            "timed_alone": self.alone,
        }


def step_rows(
    workload: RecordedWorkload, step: Interval | None, optimizer: Interval | None
) -> tuple[StepRow, ...]:
    """The rows, the costliest layer first; empty where layers were not timed.

    Parts that are timed one by one may take longer than together: then all of them are scaled
    to the step, and nothing is left over.
    """
    layers = [layer for layer in outer_layers(layer_costs(workload)) if not layer.is_model]
    if step is None or not layers:
        return ()
    ceiling = workload.found(MachineCeiling)
    rows = []
    for layer in layers:
        ns, needed = layer.step_ns, layer.needed_ns(ceiling)
        rate = min(1.0, needed / ns) if needed is not None and ns > 0 else None
        alone = layer.step is not None
        rows.append(
            StepRow(layer.name, layer.type, ns, 0.0, layer.parameters, layer.flops, rate, alone)
        )
    rows.sort(key=lambda row: -row.ns)
    if optimizer is not None:
        rows.append(StepRow(OPTIMIZER, "", optimizer.value, 0.0))
    known = sum(row.ns for row in rows)
    scale = min(1.0, step.value / known) if known else 1.0
    rows = [replace(row, ns=row.ns * scale) for row in rows]
    left = max(0.0, step.value - known * scale)
    rows.append(StepRow(REST, "", left, 0.0))
    return tuple(replace(row, share=row.ns / step.value) for row in rows)
