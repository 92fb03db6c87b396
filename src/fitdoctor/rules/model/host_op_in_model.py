"""# host-op-in-model (MO004)

## What it finds
A layer, a loss or a `train_step` leaves the framework for Python or NumPy in the middle of the
compiled step.

## Why it is slow
The data is copied out, Python runs under its lock while everything waits, and the result is copied
back. Nothing around it can be fused or run on a device, and gradients stop there.

## Evidence
A predicted gain of at least ${WORTH_CHANGE:gain}, and one of these:

- the layer's compiled function contains a `numpy_function`, `py_function` or `pure_callback`, or,
  on torch, tensors become NumPy arrays while it runs; and the layer alone is ${SHARE:percent} of
  the step or more;
- while compiled steps run on a frozen batch, your function is running in at least
  ${SEEN_SHARE:percent} of the samples, wherever the step calls it, and never between steps; on
  torch, where every step runs from Python: that share of the step passes between handing values to
  Python (`.numpy()`, `.item()`, …) and the next torch operation.

## Predicted gain
The step with a few operations of the framework (`keras.ops.tanh(0.5 * x) + x`) in the layer's
place, tried on a frozen batch in turns with the step as it is. If the layer changes the shape: the
step if the layer took ${TIMES_NEEDED} times what its arithmetic needs on this machine. For code
outside a layer: the step without most of the sampled time of your function. We do not know how much
of it native operations would need, so the interval is wide.

## Example
```python
class Scale(keras.layers.Layer):
    def call(self, x):
        return tf.numpy_function(lambda a: np.tanh(a), [x], tf.float32)
```

## Use instead
```python
        return keras.ops.tanh(x)
```

## Fix safety
The same function written with `keras.ops` may round differently: unsafe. `fix` rewrites functions
of plain arithmetic that are called through `numpy_function`, `py_function` or `pure_callback`.
Where NumPy had no gradient, the edit stops the gradient, so the training stays the same. Loops over
rows and other NumPy code are left to you, with the reason.

## When not to
The op runs once per epoch, or outside the step.
"""

from __future__ import annotations

from fitdoctor.analysis.model_costs import LayerCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.contract.evidence.step import PythonInSteps
from fitdoctor.findings.edits import UseKerasOps
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing import model_change
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import WORTH_CHANGE
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.layers import alone_ns, layer_place, longest_alone
from fitdoctor.rules.support.places import at
from fitdoctor.units import duration, percent

SHARE = 0.05
# Python seen running in this share of the samples of a compiled step.
SEEN_SHARE = 0.15
# What native operations save of it: nearly all where it loops, half where it is NumPy already.
MOSTLY = 0.95
HALF = 0.5
# At least this part of what some operations in a layer's place save, where it takes more of them.
SEVERAL = 0.7


class HostOpInModel(Rule):
    summary = "the step leaves the framework for Python in its middle"
    safety = "unsafe"
    numbers_from = (model_change,)

    def detect(self, view: View) -> Finding | None:
        """The costliest layer with a host op in it, or Python seen anywhere in the step."""
        if view.frozen is None or view.is_group:
            return None
        return self._layer(view) or self._in_step(view)

    def _in_step(self, view: View) -> Finding | None:
        seen = view.found(PythonInSteps)
        if seen is None:
            return None
        # A thread that runs without steps as well is not called by them.
        other = {row[:3] for row in seen.without_steps}
        called = [row for row in seen.functions if row[:3] not in other]
        if not called:
            return None
        file, line, function, count = called[0]
        share = min(1.0, count / max(1, seen.samples))
        if share < SEEN_SHARE:
            return None
        step = min(view.ceiling_step.value, view.costs.total.value) * share
        saved = Interval(step * MOSTLY, step * HALF, step)
        if gain(view.costs.total, saved).value < WORTH_CHANGE:
            return None
        where = Where(file, line)
        return self.finding(
            view,
            f"{function} leaves {view.backend} for Python in the middle of the step, "
            f"{percent(share)} of its time",
            Cure(
                self.safety,
                f"write {function} with keras.ops, or do it outside the step",
                at(where, UseKerasOps),
            ),
            where=where,
            saves={"step": saved},
            evidence={"function": function, "share": round(share, 3), "samples": seen.samples},
        )

    def _layer(self, view: View) -> Finding | None:
        layer = longest_alone(layer for layer in view.layers if layer.host_ops)
        if layer is None:
            return None
        share = model_change.layer_share(view, layer).value
        saved = _saved(view, layer)
        if share < SHARE or gain(view.costs.total, saved).value < WORTH_CHANGE:
            return None
        where = layer_place(view, layer)
        return self.finding(
            view,
            f"the layer {layer.name} ({layer.type}) computes in Python or NumPy: "
            f"{duration(alone_ns(layer))} alone, {percent(share)} of a step",
            # All of the file's host calls: the layer's own are among them.
            Cure(self.safety, "write it with keras.ops", at(where, UseKerasOps)),
            where=where,
            saves={"step": saved},
            evidence={
                "layer": layer.name,
                "type": layer.type,
                "layer_ns": round(alone_ns(layer)),
                "host_ops": layer.host_ops,
            },
        )


def _saved(view: View, layer: LayerCost) -> Interval:
    """What the layer written with the framework's operations saves of a step.

    Some of them in its place were tried where it keeps the shape; the real ones may be more.
    """
    native = view.left_by_change("native")
    if native is None:
        needed = layer.needed_ns(view.found(MachineCeiling)) or 0.0
        return model_change.saved_by_layers(view, [(layer, needed)])
    most = max(native.high, 1.0 - SEVERAL * (1.0 - native.value))
    return model_change.saved_by_change(view, Interval(native.value, native.low, most))


RULE = HostOpInModel()
