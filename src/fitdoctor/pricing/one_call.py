"""What one call saves of a layer that a loop calls again and again."""

from __future__ import annotations

from fitdoctor.analysis.model_costs import LayerCost
from fitdoctor.analysis.view import View
from fitdoctor.intervals import Interval
from fitdoctor.pricing.model_change import saved_of_layer


def timed_around(view: View, layer: LayerCost) -> LayerCost:
    """The layer that it is called in, where that was timed alone instead of it."""
    if layer.step is None:
        timed = (one for one in view.layers if one.name == layer.inside and one.step is not None)
        return next(timed, layer)
    return layer


def called_together(view: View, layer: LayerCost) -> list[LayerCost]:
    """The layers that one loop calls: in the same layer, and as often."""
    if layer.step is not None or layer.inside is None:
        return [layer]
    inner = (one for one in view.layers if one.inside == layer.inside)
    return [one for one in inner if one.calls == layer.calls]


def saved_by_one_call(
    view: View, layer: LayerCost, together: Interval, alike: list[LayerCost]
) -> Interval | None:
    """None where neither the layer nor the one that calls it was timed alone.

    What was tried on one layer is taken to hold for those that the same loop calls; at least its
    own time is saved.
    """
    outer = timed_around(view, layer)
    if outer.step is None or layer.step_ns <= 0:
        return None
    left = together.divided_by(Interval.exact(layer.step_ns))
    if outer is layer:
        return saved_of_layer(view, layer, left)
    inside = [one for one in view.layers if one.inside == outer.name]
    whole = outer.ns + sum(one.ns for one in inside)
    most = sum(one.ns for one in alike) / whole if whole > 0 else 0.0
    least = layer.ns / whole if whole > 0 else 0.0
    gone = Interval(most, least, most).times(Interval.exact(1.0).minus(left))
    return saved_of_layer(view, outer, Interval.exact(1.0).minus(gone))
