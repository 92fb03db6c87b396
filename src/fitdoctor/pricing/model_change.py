"""What a faster training step saves of the training as it really runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fitdoctor.analysis.model_costs import LayerCost, outer_layers
from fitdoctor.analysis.view import View
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration

# A layer alone is not quite the layer inside the step, where ops are fused and overlap.
ALONE_ERROR = 0.15
# A layer written well still takes this many times what its arithmetic needs at best.
TIMES_NEEDED = 3.0
WRITTEN_WELL = Interval(TIMES_NEEDED, 1.5, 5.0)
# A copy of the model, or the model with one thing changed, is not quite the training after the
# cure: a smaller gain than this may not show there.
WORTH_CHANGE = 1.15


def saved_by_change(view: View, left: Interval) -> Interval:
    """Nanoseconds per step that a changed step saves; `left` is what it leaves of a frozen one.

    As a share of the real step: on a machine that was slower while probing, both were.
    """
    return _beside_loop(view, Interval.exact(1.0).minus(left).scaled(real_step(view)))


def _beside_loop(view: View, saved: Interval) -> Interval:
    """Not more than leaves Keras's loop and its wait for data: the device computes beside them."""
    loop = view.host_loop
    if loop is None:
        return saved
    rest = view.costs.total.value - view.costs.parts.get("input_wait", 0.0)
    return Interval.minimum(saved, Interval.exact(rest).minus(loop))


def real_step(view: View) -> float:
    """Nanoseconds of computing in a real step: a frozen one's, or what the real ones took longer.

    Not what loading adds to it.
    """
    if view.frozen is None:
        return 0.0
    longer = min(view.parts.get("step", 0.0), view.ceiling_step.value)
    return min(view.costs.total.value, max(view.frozen.value, longer))


@dataclass(frozen=True)
class TriedChange:
    """A change of the model that was tried on the frozen batch and gains enough."""

    before: Interval  # the frozen step as it is
    after: Interval  # and with the change
    saved: Interval
    gain: Interval

    @property
    def saves(self) -> dict[str, Interval]:
        """What a finding says it saves."""
        return {"step": self.saved}

    def in_words(self, as_is: str, changed: str) -> str:
        """Both steps in a sentence: `in_words("in half precision", "in float32")`."""
        before, after = duration(self.before.value), duration(self.after.value)
        return f"{as_is} a step takes {before}, {changed} {after}"

    def evidence(self, changed: str) -> dict[str, int]:
        """Both steps in nanoseconds, the changed one under this key."""
        return {"step_ns": round(self.before.value), changed: round(self.after.value)}


def tried_change(view: View, left: Interval | None, worth: float) -> TriedChange | None:
    """What a tried change is worth; None where it was not tried, or gains less than `worth`.

    Args:
        view: the workload.
        left: what the change leaves of the frozen step.
        worth: the smallest gain that a finding is made of.
    """
    if left is None or view.frozen is None:
        return None
    saved = saved_by_change(view, left)
    predicted = gain(view.costs.total, saved)
    if predicted.value < worth:
        return None
    return TriedChange(view.frozen, left.scaled(view.frozen.value), saved, predicted)


def layer_share(view: View, layer: LayerCost) -> Interval:
    """A layer's part of the frozen step.

    Its time alone over the step, or over all the layers' times alone where they are more:
    alone, a layer cannot overlap with the others.
    """
    if layer.step is None or view.frozen is None:
        return Interval.exact(0.0)
    layers = outer_layers(view.layers)
    alone = sum(one.step.value for one in layers if one.step is not None)
    share = min(1.0, layer.step.value / max(alone, view.frozen.value))
    return Interval(share, share * (1 - ALONE_ERROR), min(1.0, share * (1 + ALONE_ERROR)))


def saved_by_layers(view: View, needs: Iterable[tuple[LayerCost, float]]) -> Interval:
    """Nanoseconds per step saved when layers are written with operations on the whole batch.

    Args:
        view: what was measured.
        needs: the layers, and what the arithmetic of each needs.
    """
    saved = Interval.exact(0.0)
    for layer, needed_ns in needs:
        if layer.step is not None:
            left = WRITTEN_WELL.scaled(needed_ns / layer.step.value)
            saved = saved + _of_layer(view, layer, left)
    return _beside_loop(view, Interval.minimum(saved, Interval.exact(real_step(view))))


def saved_of_layer(view: View, layer: LayerCost, left: Interval) -> Interval:
    """Nanoseconds per step saved when this part of a layer's time is left."""
    return _beside_loop(view, _of_layer(view, layer, left))


def _of_layer(view: View, layer: LayerCost, left: Interval) -> Interval:
    step = layer_share(view, layer).scaled(real_step(view))
    return step.times(Interval.exact(1.0).minus(left))
