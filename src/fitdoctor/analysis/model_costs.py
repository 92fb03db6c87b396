"""What was measured of the model itself: its layers, and copies of it with one thing changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fitdoctor.analysis.estimate import from_windows, ratio_in_turns
from fitdoctor.contract.evidence.model import ChangedCopy, Layers, LayerTime, MachineCeiling
from fitdoctor.contract.limits import FORWARD_PASSES_PER_STEP, RECURRENT
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.intervals import Interval


@dataclass(frozen=True)
class LayerCost(LayerTime):
    """One layer on the frozen batch; `flops` and `bytes` are those of all its calls in a step."""

    step: Interval | None = None  # forward and backward of all calls, alone and compiled

    @property
    def is_kernel(self) -> bool:
        """One of Keras's own layers, made of a few operations of the framework.

        A recurrence is many small ones, a grouped convolution may have no good kernel, and a layer
        of the user's own may be anything.
        """
        is_own = self.is_user or self.type == "Lambda"
        is_grouped = self.settings.get("groups", 1) > 1
        return not (is_own or is_grouped or self.type in RECURRENT)

    @property
    def step_ns(self) -> float:
        """Forward and backward; as the forward pass tells where it was not timed alone."""
        return self.step.value if self.step is not None else FORWARD_PASSES_PER_STEP * self.ns

    def needed_ns(self, ceiling: MachineCeiling | None) -> float | None:
        """What its arithmetic takes at the best rates of this machine, backward included."""
        if ceiling is None or self.flops is None or self.bytes is None:
            return None
        is_conv = "Conv" in self.type and ceiling.conv_flops_per_s is not None
        rate = ceiling.conv_flops_per_s if is_conv else ceiling.flops_per_s
        compute = self.flops / max(1.0, rate or 0.0)
        moving = self.bytes / max(1.0, ceiling.bytes_per_s)
        return FORWARD_PASSES_PER_STEP * max(compute, moving) * 1e9


def layer_costs(workload: RecordedWorkload) -> tuple[LayerCost, ...]:
    """The layers that were timed, the costliest first."""
    found = workload.found(Layers)
    return tuple(_layer(row) for row in found.layers) if found is not None else ()


def outer_layers(layers: Iterable[LayerCost]) -> list[LayerCost]:
    """Those that count: a layer inside one that was timed alone is part of that one's time."""
    layers = list(layers)
    alone = {layer.name for layer in layers if layer.step is not None}
    return [layer for layer in layers if layer.inside not in alone]


def _layer(row: LayerTime) -> LayerCost:
    calls = max(1, row.calls)
    step = from_windows(row.alone.ns) if row.alone is not None else None
    of_all_calls = {
        "calls": calls,
        "flops": None if row.flops is None else row.flops * calls,
        "bytes": None if row.bytes is None else row.bytes * calls,
        "step": None if step is None else step.scaled(calls),
    }
    return LayerCost(**vars(row) | of_all_calls)


def copy_ratio(workload: RecordedWorkload, name: str) -> Interval | None:
    """A changed copy's step over an unchanged copy's; None where one was not timed."""
    base, changed = workload.found(ChangedCopy, "as_is"), workload.found(ChangedCopy, name)
    if base is None or changed is None:
        return None
    if (in_turns := ratio_in_turns(changed)) is not None:
        return in_turns
    before, after = from_windows(base.ns), from_windows(changed.ns)
    return after.divided_by(before) if before is not None and after is not None else None
