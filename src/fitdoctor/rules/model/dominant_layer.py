"""# dominant-layer (MO008)

## What it finds
Nothing holds the training up but its own arithmetic, and one layer is nearly all of it; or most of
it is done in layers that are frozen, and so gives the same in every epoch.

## Why it is slow
It is not slow for what it computes. Only computing less makes it faster: a narrower layer,
a smaller input, fewer steps.

## Evidence
- a real step takes no longer than a step on a frozen batch (within 15 %);
- four times smaller batches take clearly less time, or the step is long: no dispatch limit;
- of the layers' time, each timed alone with its gradients, one takes at least 80 %; a
  recurrent one 55 %, if a copy of the model with it at half its width is 1.5x faster or more.

- or: a copy of the model without the frozen layers at its input trains at least 30 % faster on what
  they give, and the same data (arrays, or a pipeline without random stages) are read in several
  epochs.

## Predicted gain
Frozen layers: the measured step of the rest of the model; their own time is spent once.
Else: the step of a copy of your model with that layer at half its width, measured on your own batch
(where the model cannot be rebuilt: the step if the layer cost half as much). A price, not a
promise: what it does to accuracy is for you to find out.

## Example
```python
keras.layers.Conv2D(1024, 3)
```

## Use instead
```python
keras.layers.Conv2D(512, 3)          # if the accuracy allows it
```
```python
features = base.predict(x)           # frozen: once, before training
head.fit(features, y, epochs=25)     # then only what learns
```

## Fix safety
Another model. Advice only.

## When not to
The work is spread over the layers: then the model as a whole is what it costs.
"""

from __future__ import annotations

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.model_costs import BACKWARD, LayerCost, outer_layers
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import real_step, saved_by_change
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

DOMINANT_SHARE = 0.8
# Frozen layers below this share of a step are not worth a training in two parts.
FROZEN_SHARE = 0.3
# And the step is this share of the training with all that is around it.
MOSTLY_STEP = 0.75
# A recurrence works step by step and keeps the others waiting; its width is the only lever. Where
# it is half of the layers' time, a large measured gain of half the width is worth telling.
RECURRENT_SHARE = 0.5
RECURRENT = frozenset({"LSTM", "GRU", "SimpleRNN", "Bidirectional"})
WORTH_GAIN = 1.5
# Real over frozen step up to which the step itself is the limit.
AT_CEILING = 1.15
# Half the width halves a layer's cost, or quarters it where the next layer narrows too.
HALVED = Interval(0.5, 0.35, 0.7)


class DominantLayer:
    """MO008."""

    code = "MO008"
    name = "dominant-layer"
    summary = "one layer is nearly all of the arithmetic"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """At the ceiling of the step: frozen layers, or one layer above the threshold."""
        return self._frozen(view) or self._one(view)

    def _frozen(self, view: View) -> Finding | None:
        """Layers that compute the same again in every epoch."""
        data, passes = view.result("frozen_layers"), view.passes
        rest = from_windows(data["ns"]) if data else None
        if data is None or rest is None or view.frozen is None or view.is_group:
            return None
        if passes is None or passes < 2 or not _same_in_every_epoch(view):
            return None
        left = _in_later_epochs(rest.divided_by(view.frozen), passes)
        if left.value > 1 - FROZEN_SHARE:
            return None
        saves = {"step": saved_by_change(view, left)}
        saved = saves["step"]
        validation = view.parts.get("validation", 0.0)
        if validation:
            # Forward only, so that frozen layers are at least as much of it.
            saves["validation"] = Interval.exact(validation).minus(left.scaled(validation))
            saved = saved + saves["validation"]
        names = data["layers"]
        behind = f"{names[0]} to {names[-1]}" if len(names) > 1 else names[0]
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"frozen layers ({behind}, {data['parameters']:,} weights) give the same in each "
                f"of {passes} epochs; a step takes {duration(view.frozen.value)} with them, "
                f"{duration(rest.value)} without"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                self.safety,
                "compute what they give once (features = keras.Model(model.inputs, "
                f'model.get_layer("{data["behind"]}").input).predict(x)), and train the layers '
                "behind them on that",
            ),
            evidence={
                "layer": behind,
                "step_ns": round(view.frozen.value),
                "rest_ns": round(rest.value),
                "parameters": data["parameters"],
                "epochs": passes,
            },
            saves=saves,
        )

    def _one(self, view: View) -> Finding | None:
        data = view.result("layers")
        if data is None or view.frozen is None or view.is_group:
            return None
        if (view.result("device") or {}).get("kind") == "gpu":
            return None  # layer by layer, starting a kernel takes as long as many of them
        if view.core.value > AT_CEILING * view.frozen.value:
            return None
        if view.frozen.value < MOSTLY_STEP * view.costs.total.value:
            return None
        found = _dominant(view)
        if found is None:
            return None
        top, share = found
        step = real_step(view)
        half = view.left_by_change("half")
        saved = saved_by_change(view, half) if half is not None else HALVED.scaled(share * step)
        if share < DOMINANT_SHARE and (
            half is None or gain(view.costs.total, saved).value < WORTH_GAIN
        ):
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"the layer {top.name} ({top.type}) is {percent(share)} of the layers' "
                f"time; the step of {duration(step)} is its arithmetic"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                self.safety,
                f"if accuracy allows: {top.name} at half its width{_other_prices(view)} "
                "(the price is measured, the accuracy is not)",
            ),
            evidence={
                "layer": top.name,
                "type": top.type,
                "step_share": round(share, 3),
                "parameters": top.parameters,
            },
            saves={"step": saved},
        )


def _same_in_every_epoch(view: View) -> bool:
    """Whether the model is given the same samples again, in whatever order."""
    if view.input.get("kind") == "arrays":
        return True
    is_pipeline = view.input.get("kind") == "tf.data"
    return is_pipeline and not any(stage.random or stage.python for stage in view.stages)


def _in_later_epochs(left: Interval, passes: int) -> Interval:
    """What is left of a step where the whole of it is done in one epoch only."""
    once = Interval.exact(1 / passes)
    return (
        Interval(min(1.0, left.value), min(1.0, left.low), min(1.0, left.high)).scaled(
            1 - 1 / passes
        )
        + once
    )


def _dominant(view: View) -> tuple[LayerCost, float] | None:
    """The layer that costs most, and its share of all layers, backward passes included.

    The cheap ones were not timed alone; many of them together are not cheap.
    """
    layers = [layer for layer in outer_layers(view.layers) if not layer.is_model]
    if not layers:
        return None
    costs = [
        layer.step.value if layer.step is not None else BACKWARD * layer.forward_ns
        for layer in layers
    ]
    cost, top = max(zip(costs, layers, strict=True), key=lambda pair: pair[0])
    share = cost / max(1.0, sum(costs))
    enough = RECURRENT_SHARE if top.type in RECURRENT else DOMINANT_SHARE
    return (top, share) if share >= enough else None


def _other_prices(view: View) -> str:
    """What a copy with another change took, beside half the width."""
    names = {"quarter": "at a quarter", "gru": "as a GRU"}
    known = [(text, view.changed_step(copy)) for copy, text in names.items()]
    prices = [
        f"{text} a step takes {duration(step.value)}" for text, step in known if step is not None
    ]
    return f"; {', '.join(prices)}" if prices else ""


RULE = DominantLayer()
