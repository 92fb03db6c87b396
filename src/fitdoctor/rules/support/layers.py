"""One layer of the model as a finding names it."""

from __future__ import annotations

from collections.abc import Iterable

from fitdoctor.analysis.model_costs import LayerCost
from fitdoctor.analysis.view import View
from fitdoctor.findings.place import Where, line_of, place_of


def layer_place(view: View, layer: LayerCost) -> Where | None:
    """Where the layer's class is written; the line that trains where that is not known."""
    return line_of(layer) or place_of(view.recorded)


def longest_alone(layers: Iterable[LayerCost]) -> LayerCost | None:
    """The layer that takes longest, forward and backward, of those that were timed alone."""
    timed = [layer for layer in layers if layer.step is not None]
    return max(timed, key=alone_ns, default=None)


def alone_ns(layer: LayerCost) -> float:
    """Nanoseconds of the layer alone, forward and backward; 0 where it was not timed."""
    return layer.step.value if layer.step is not None else 0.0
