"""# dominant-layer (MO008)

## What it finds
Frozen layers do most of the arithmetic, and give the same result in every epoch. Or, as an option
below a healthy verdict: only arithmetic limits the training, and one layer does nearly all of it.

## Why it is slow
Frozen layers repeat their work in every epoch. One large layer is not slow: only computing less
makes it faster, and that is another model.

## Evidence
One of these.

One layer (an option, not a finding):

- the layer is below ${AT_ITS_RATE:percent} of the machine's best rate;
- a real step takes no longer than a step on a frozen batch (within ${AT_CEILING:gain}), and that
  is at least ${MOSTLY_STEP:percent} of the training;
- with each layer timed alone with its gradients, one takes at least ${DOMINANT_SHARE:percent} of
  their sum; for a recurrent one ${RECURRENT_SHARE:percent}, if training with that layer at half its
  width is ${WORTH_HALVING:gain} faster or more.

Frozen layers:

- without the frozen layers at the model's input, on their stored outputs, the steps of all epochs
  take at least ${FROZEN_SHARE:percent} less time;
- several epochs read the same data (arrays, or a pipeline without random stages).

## Predicted gain
Frozen layers: the measured step of the rest of the model, plus one pass of the frozen layers.
Otherwise: the step of a copy of your model with that layer at half its width, measured on your own
batch (if the model cannot be rebuilt: the step if the layer cost half as much). The effect on
accuracy is not measured.

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
The work is spread over the layers: no single layer is then worth changing.
"""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.model_costs import LayerCost, outer_layers
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.model import Layers, MachineCeiling, WithoutFrozenLayers
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import real_step, saved_by_change
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration, percent

DOMINANT_SHARE = 0.8
# Frozen layers below this share of a step are not worth a training in two parts.
FROZEN_SHARE = 0.3
# And the step is this share of the training with all that is around it.
MOSTLY_STEP = 0.75
# A recurrence works step by step and keeps the others waiting; its width is the only lever. Where
# it is half of the layers' time, a large measured gain of half the width is worth reporting.
RECURRENT_SHARE = 0.5
RECURRENT = frozenset({"LSTM", "GRU", "SimpleRNN", "Bidirectional"})
# A layer that does not dominate must gain this much at half its width: accuracy is at stake.
WORTH_HALVING = 1.5
# Real over frozen step up to which the step itself is the limit.
AT_CEILING = 1.15
# A layer at this part of the machine's best rate, or more, has nothing to give.
AT_ITS_RATE = 0.5
# Half the width halves a layer's cost, or quarters it where the next layer narrows too.
HALVED = Interval(0.5, 0.35, 0.7)


class DominantLayer(Rule):
    summary = "one layer is nearly all of the arithmetic"
    safety = "advice"
    # A layer that is slow, emulated or fed with padding dominates for that reason.
    explained_by = frozenset({"MO002", "MO003", "MO004", "MO005", "MO007", "CO003", "CO004"})

    def detect(self, view: View) -> Finding | None:
        """At the ceiling of the step: frozen layers, or one layer above the threshold."""
        return self._frozen(view) or self._one(view)

    def _frozen(self, view: View) -> Finding | None:
        """Layers that compute the same again in every epoch."""
        found, rest = view.found(WithoutFrozenLayers), view.timed(WithoutFrozenLayers)
        passes = view.passes
        if found is None or not found.layers or rest is None:
            return None
        if view.frozen is None or view.is_group:
            return None
        if passes is None or passes < 2 or not _same_in_every_epoch(view):
            return None
        left = _in_later_epochs(rest.divided_by(view.frozen), passes)
        if left.value > 1 - FROZEN_SHARE:
            return None
        saves = {"step": saved_by_change(view, left)}
        validation = view.parts.get("validation", 0.0)
        if validation:
            # Forward only, so that frozen layers are at least as much of it.
            saves["validation"] = Interval.exact(validation).minus(left.scaled(validation))
        names = found.layers
        frozen = f"{names[0]} to {names[-1]}" if len(names) > 1 else names[0]
        return self.finding(
            view,
            f"frozen layers ({frozen}, {found.parameters:,} weights) give the same in each "
            f"of {passes} epochs; a step takes {duration(view.frozen.value)} with them, "
            f"{duration(rest.value)} without",
            Cure(
                self.safety,
                "compute what they give once (features = keras.Model(model.inputs, "
                f'model.get_layer("{found.behind}").input).predict(x)), and train the layers '
                "after them on that",
            ),
            saves=saves,
            evidence={
                "layer": frozen,
                "step_ns": round(view.frozen.value),
                "rest_ns": round(rest.value),
                "parameters": found.parameters,
                "epochs": passes,
            },
        )

    def _one(self, view: View) -> Finding | None:
        found = _dominant(view) if _is_its_own_limit(view) else None
        if found is None:
            return None
        top, share = found
        step = real_step(view)
        needed = top.needed_ns(view.found(MachineCeiling))
        if needed is not None and needed >= AT_ITS_RATE * top.step_ns:
            return None  # it is simply at work
        half = view.left_by_change("half")
        saved = saved_by_change(view, half) if half is not None else HALVED.scaled(share * step)
        worth = half is not None and gain(view.costs.total, saved).value >= WORTH_HALVING
        if share < DOMINANT_SHARE and not worth:
            return None
        option = self.finding(
            view,
            f"the layer {top.name} ({top.type}) is {percent(share)} of the layers' "
            f"time; the step of {duration(step)} is its arithmetic",
            Cure(
                self.safety,
                f"if accuracy allows: {top.name} at half its width{_other_changes(view)} "
                "(the step is measured, the accuracy is not)",
            ),
            saves={"step": saved},
            evidence={
                "layer": top.name,
                "type": top.type,
                "step_share": round(share, 3),
                "parameters": top.parameters,
            },
            how="tried" if half is not None else "modelled",
        )
        return replace(option, is_option=True)


def _is_its_own_limit(view: View) -> bool:
    """Whether the layers were timed, and neither input nor anything around the step is slow."""
    if view.found(Layers) is None or view.frozen is None or view.is_group:
        return False
    device = view.found(Device)
    if device is not None and device.kind == "gpu":
        return False  # layer by layer, starting a kernel takes as long as many of them
    step = view.frozen.value
    return view.core.value <= AT_CEILING * step and step >= MOSTLY_STEP * view.costs.total.value


def _same_in_every_epoch(view: View) -> bool:
    """Whether the model is given the same samples again, in whatever order."""
    if view.input.kind == "arrays":
        return True
    is_pipeline = view.input.kind == "tf.data"
    return is_pipeline and not any(stage.random or stage.python for stage in view.stages)


def _in_later_epochs(left: Interval, passes: int) -> Interval:
    """What is left of a step where the whole of it is done in one epoch only."""
    at_most_all = Interval.minimum(left, Interval.exact(1.0))
    return at_most_all.scaled(1 - 1 / passes) + Interval.exact(1 / passes)


def _dominant(view: View) -> tuple[LayerCost, float] | None:
    """The layer that costs most, and its share of all layers, backward passes included.

    The cheap ones were not timed alone; many of them together are not cheap.
    """
    layers = [layer for layer in outer_layers(view.layers) if not layer.is_model]
    if not layers:
        return None
    top = max(layers, key=lambda layer: layer.step_ns)
    share = top.step_ns / max(1.0, sum(layer.step_ns for layer in layers))
    enough = RECURRENT_SHARE if top.type in RECURRENT else DOMINANT_SHARE
    return (top, share) if share >= enough else None


def _other_changes(view: View) -> str:
    """What a copy with another change took, beside half the width."""
    names = {"quarter": "at a quarter", "gru": "as a GRU"}
    known = [(text, view.changed_step(copy)) for copy, text in names.items()]
    steps = [
        f"{text} a step takes {duration(step.value)}" for text, step in known if step is not None
    ]
    return f"; {', '.join(steps)}" if steps else ""


RULE = DominantLayer()
