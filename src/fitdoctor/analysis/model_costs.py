"""What was measured of the model itself: its layers, and copies of it with one thing changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fitdoctor.analysis.estimate import from_windows, ratio_in_turns
from fitdoctor.contract.evidence.model import ChangedCopy, Layers, LayerTime, MachineCeiling
from fitdoctor.contract.limits import FORWARD_PASSES_PER_STEP
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval


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
    settings: dict[str, bool | int | float]
    calls: int = 1  # in one step; `step`, `flops` and `bytes` are those of all of them
    inside: str | None = None  # the layer that holds it, and is timed with it

    def needed_ns(self, ceiling: MachineCeiling | None) -> float | None:
        """What its arithmetic takes at the best rates of this machine, backward included."""
        if ceiling is None or self.flops is None or self.bytes is None:
            return None
        compute = self.flops / max(1.0, ceiling.flops_per_s)
        moving = self.bytes / max(1.0, ceiling.bytes_per_s)
        return FORWARD_PASSES_PER_STEP * max(compute, moving) * 1e9


def layer_costs(workload: RecordedWorkload) -> tuple[LayerCost, ...]:
    """The layers that were timed, the costliest first."""
    found = workload.found(Layers)
    rows = found.layers if found is not None else ()
    whole = float(sum(row.ns for row in rows)) or 1.0
    return tuple(_layer(row, whole) for row in rows)


def outer_layers(layers: Iterable[LayerCost]) -> list[LayerCost]:
    """Those that count: a layer inside one that was timed alone is part of that one's time."""
    layers = list(layers)
    alone = {layer.name for layer in layers if layer.step is not None}
    return [layer for layer in layers if layer.inside not in alone]


def _layer(row: LayerTime, whole: float) -> LayerCost:
    calls = max(1, row.calls)
    step = from_windows(row.alone.ns) if row.alone is not None else None
    return LayerCost(
        name=row.name,
        type=row.type,
        parameters=row.parameters,
        forward_ns=float(row.ns),
        step=step.scaled(calls) if step is not None else None,
        share=row.ns / whole,
        flops=_times(row.flops, calls),
        bytes=_times(row.bytes, calls),
        host_ops=row.host_ops,
        loops=row.loops,
        is_model=row.is_model,
        is_user=row.is_user,
        file=row.file,
        line=row.line,
        settings=row.settings,
        calls=calls,
        inside=row.inside,
    )


def _times(needs: float | None, calls: int) -> float | None:
    return None if needs is None else needs * calls


def copy_ratio(workload: RecordedWorkload, name: str) -> Interval | None:
    """A changed copy's step over an unchanged copy's; None where one was not timed."""
    base, changed = workload.found(ChangedCopy, "as_is"), workload.found(ChangedCopy, name)
    if base is None or changed is None:
        return None
    if (in_turns := ratio_in_turns(changed)) is not None:
        return in_turns
    before, after = from_windows(base.ns), from_windows(changed.ns)
    return after.divided_by(before) if before is not None and after is not None else None
