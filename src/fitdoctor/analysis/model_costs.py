"""What was measured of the model itself: its layers, and copies of it with one thing changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fitdoctor.analysis.estimate import from_windows, ratio_in_turns
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval

# A backward pass takes about twice the arithmetic of the forward one.
BACKWARD = 3.0


@dataclass(frozen=True)
class LayerCost:
    """One layer on the frozen batch."""

    name: str
    type: str
    parameters: int | None
    forward_ns: float
    step: Interval | None  # forward and backward, alone and compiled
    share: float  # of the forward pass of all layers
    flops: float | None
    bytes: float | None
    host_ops: int
    loops: int
    is_model: bool
    is_user: bool
    file: str | None
    line: int | None
    settings: dict[str, Any]
    calls: int = 1  # in one step; `step`, `flops` and `bytes` are those of all of them
    inside: str | None = None  # the layer that holds it, and is timed with it

    def needed_ns(self, ceiling: dict[str, Any] | None) -> float | None:
        """What its arithmetic takes at the best rates of this machine, backward included."""
        if not ceiling or self.flops is None or self.bytes is None:
            return None
        compute = self.flops / float(ceiling["flops_per_s"])
        moving = self.bytes / float(ceiling["bytes_per_s"])
        return BACKWARD * max(compute, moving) * 1e9


def layer_costs(workload: RecordedWorkload) -> tuple[LayerCost, ...]:
    """The layers that were timed, the costliest first."""
    data = workload.result("layers")
    rows: list[dict[str, Any]] = data["layers"] if data else []
    whole = sum(float(row["ns"]) for row in rows) or 1.0
    return tuple(_layer(row, whole) for row in rows)


def outer_layers(layers: Iterable[LayerCost]) -> list[LayerCost]:
    """Those that count: a layer inside one that was timed alone is part of that one's time."""
    layers = list(layers)
    alone = {layer.name for layer in layers if layer.step is not None}
    return [layer for layer in layers if layer.inside not in alone]


def _layer(row: dict[str, Any], whole: float) -> LayerCost:
    alone = row.get("alone")
    calls = int(row.get("calls") or 1)
    step = from_windows(alone["ns"]) if alone else None
    return LayerCost(
        name=str(row["name"]),
        type=str(row["type"]),
        parameters=row.get("parameters"),
        forward_ns=float(row["ns"]),
        step=step.scaled(calls) if step is not None else None,
        share=float(row["ns"]) / whole,
        flops=_times(row.get("flops"), calls),
        bytes=_times(row.get("bytes"), calls),
        host_ops=int(row.get("host_ops") or 0),
        loops=int(row.get("loops") or 0),
        is_model=bool(row.get("is_model")),
        is_user=bool(row.get("is_user")),
        file=row.get("file"),
        line=row.get("line"),
        settings=row.get("settings") or {},
        calls=calls,
        inside=row.get("inside"),
    )


def _times(needs: float | None, calls: int) -> float | None:
    return None if needs is None else needs * calls


def copy_ratio(workload: RecordedWorkload, name: str) -> Interval | None:
    """A changed copy's step over an unchanged copy's; None where one was not timed."""
    base, changed = workload.result("copy_as_is"), workload.result(f"copy_{name}")
    if not base or not changed:
        return None
    if (in_turns := ratio_in_turns(changed)) is not None:
        return in_turns
    before, after = from_windows(base["ns"]), from_windows(changed["ns"])
    return after.divided_by(before) if before is not None and after is not None else None
