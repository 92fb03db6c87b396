"""# slow-layer (MO003)

## What it finds
One layer takes far longer than its arithmetic needs on this machine, or is called many times in
a step where once would do.

## Why it is slow
The framework has no good kernel for it (grouped convolutions on a CPU), or the layer works sample
by sample (`map_fn`, `vectorized_map` that falls back, a Python loop): thousands of small
operations instead of one large one.

## Evidence
- the layer alone, forward and backward, is a fifth of the step or more;
- it takes at least 10 times what its multiplications and memory traffic take at the best rates
  measured on this machine (one large matrix product, one large copy);
- it is a layer of your own, or a Lambda; or a grouped convolution, and a copy of the model with a
  plain one is faster;
- or the loss is your own and maps over the rows one by one, and the step with all rows at once is
  faster;
- or, on torch: the model calls the layer four times or more in a step, no call needs what another
  computed (with the layer's outputs set to zero its inputs stay the same), and one call on all the
  inputs together is faster.

## Predicted gain
For a grouped convolution the step of that copy; for `tf.map_fn` and `keras.ops.map` the step with
`vectorized_map` in their place, for `jax.lax.map` with `jax.vmap`; for repeated calls the time of
one call instead. Otherwise the step if the layer needed three times its ideal time.

## Example
```python
class Normalise(keras.layers.Layer):
    def call(self, x):
        return tf.map_fn(lambda row: row / tf.norm(row), x)
```

## Use instead
```python
        return x / keras.ops.norm(x, axis=-1, keepdims=True)
```
On a CPU `Conv2D(64, 3)` or `SeparableConv2D` instead of `Conv2D(64, 3, groups=8)`.

## Fix safety
Vectorising keeps the result but for rounding; `vectorized_map` or `jax.vmap` is offered where the
model gave the same on a batch with it (unsafe: rounding). The rest is advice: another convolution
is another model.

## When not to
- Recurrent layers work step by step by nature.
- The layer is near its ceiling: see MO008.
"""

from __future__ import annotations

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.model_costs import LayerCost
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit, RenameCall, VmapInstead
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import (
    layer_share,
    priced_change,
    saved_by_change,
    saved_by_layers,
    saved_of_layer,
)
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.15
SHARE = 0.2
SLOWNESS = 10.0
# Calling a layer alone has a price of some tenths of a millisecond, whatever it computes.
SHORT_NS = 2e6
MAP_SETTINGS = (
    "dtype",
    "fn_output_signature",
    "parallel_iterations",
    "back_prop",
    "swap_memory",
    "infer_shape",
    "name",
)
LAX_MAP = "lax.map"
RECURRENT = frozenset({"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D"})


class SlowLayer:
    """MO003."""

    code = "MO003"
    name = "slow-layer"
    summary = "one layer takes far longer than its arithmetic needs, or is called too often"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """The layer that loses most against what it needs, or by being called again and again."""
        if view.frozen is None or view.is_group:
            return None
        return self._one_call(view) or self._mapped(view) or self._slow(view)

    def _mapped(self, view: View) -> Finding | None:
        """A map over rows, whose vectorised twin was tried."""
        slow, data = _looping(view), view.result("step_vectorised")
        priced = priced_change(view, "vectorised", WORTH_GAIN)
        if data is None or priced is None or view.frozen is None:
            return None
        # Without a layer that loops, the loss does.
        what = f"the layer {slow.name} ({slow.type})" if slow is not None else "the loss"
        calls = [(one["call"], Where(one["file"], int(one["line"]))) for one in data["calls"]]
        return Finding(
            rule=self.code,
            name=self.name,
            where=calls[0][1],
            message=(
                f"{what} maps over its rows one by one: a step takes "
                f"{duration(view.frozen.value)}, with all rows at once "
                f"{duration(priced.step.value)}"
            ),
            gain=priced.gain,
            cure=_vectorising(calls),
            evidence={
                "layer": slow.name if slow is not None else None,
                "type": slow.type if slow is not None else None,
                "layer_ns": round(slow.step.value) if slow is not None and slow.step else None,
                "vectorised_step_ns": round(priced.step.value),
                "loops": slow.loops if slow is not None else None,
            },
            saves={"step": priced.saved},
        )

    def _one_call(self, view: View) -> Finding | None:
        data = view.result("one_call") or {}
        layer = next((one for one in view.layers if one.name == data.get("layer")), None)
        together = from_windows(data["ns"]) if data else None
        if layer is None or layer.step is None or together is None:
            return None
        saved = saved_of_layer(view, layer, together.divided_by(layer.step))
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        where = Where(layer.file, layer.line) if layer.file and layer.line else None
        return Finding(
            rule=self.code,
            name=self.name,
            where=where or place_of(view.recorded),
            message=(
                f"the layer {layer.name} ({layer.type}) is called {layer.calls} times in every "
                f"step, {duration(layer.step.value)} together; one call on all of it takes "
                f"{duration(together.value)}"
            ),
            gain=priced,
            cure=Cure(
                self.safety,
                "call it once: reshape what the loop runs over into the batch, and back "
                "afterwards (or keras.layers.TimeDistributed)",
            ),
            evidence={
                "layer": layer.name,
                "type": layer.type,
                "calls": layer.calls,
                "layer_ns": round(layer.step.value),
                "one_call_ns": round(together.value),
            },
            saves={"step": saved},
        )

    def _slow(self, view: View) -> Finding | None:
        alike = _slowest(view)
        slow = alike[0][0] if alike else None
        if slow is None or slow.step is None or view.frozen is None:
            return None
        taken = sum(layer.step.value for layer, _ in alike if layer.step is not None)
        needed = sum(needed for _, needed in alike)
        ungrouped = view.left_by_change("ungrouped")
        if slow.settings.get("groups", 1) > 1:
            if ungrouped is None:
                return None
            saved = saved_by_change(view, ungrouped)
        else:
            saved = saved_by_layers(view, alike)
        recorded = view.recorded
        where = place_of(recorded)
        if slow.file and slow.line:
            where = Where(slow.file, slow.line)
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"{_named(alike)} {duration(taken)} of a step of {duration(view.frozen.value)}; "
                f"the arithmetic needs about {duration(needed)}"
            ),
            gain=priced,
            cure=Cure(self.safety, _advice(slow)),
            evidence={
                "layer": slow.name,
                "type": slow.type,
                "layer_ns": round(taken),
                "needed_ns": round(needed),
                "layers": len(alike),
                "loops": slow.loops,
                "groups": int(slow.settings.get("groups", 1)),
            },
            saves={"step": saved},
        )


def _vectorising(calls: list[tuple[str, Where]]) -> Cure:
    twins: dict[str, set[str]] = {}
    for name, _ in calls:
        twins.setdefault("jax.vmap" if name == LAX_MAP else "vectorized_map", set()).add(name)
    changes = [f"{twin} instead of {' and '.join(sorted(twins[twin]))}" for twin in sorted(twins)]
    return Cure(
        "unsafe",
        f"{', '.join(changes)}: it gave the same on a batch",
        tuple(_vectorised(name, where) for name, where in calls),
    )


def _vectorised(name: str, where: Where) -> Edit:
    if name == LAX_MAP:
        return VmapInstead(where)
    # What tells map_fn the result's type, or how to run its loop, has no meaning there.
    return RenameCall(where, name, "vectorized_map", drop=MAP_SETTINGS, positional=2)


def _looping(view: View) -> LayerCost | None:
    """The user's layer with a loop in it that takes longest."""
    found = [layer for layer in view.layers if layer.loops and layer.step is not None]
    mine = [layer for layer in found if _is_users(layer) and not layer.is_model]
    return max(mine, key=lambda layer: layer.step.value if layer.step else 0.0, default=None)


_Needs = list[tuple[LayerCost, float]]  # layers, and what the arithmetic of each needs


def _named(alike: _Needs) -> str:
    slow = alike[0][0]
    if len(alike) == 1:
        return f"the layer {slow.name} ({slow.type}) takes"
    # Called alone they do not overlap: together they may take longer than the step.
    return f"{len(alike)} layers {slow.type}, called alone, take"


def _slowest(view: View) -> _Needs:
    """The class of layers that loses most against what it needs, its slowest layer first."""
    ceiling = view.result("machine_ceiling")
    found: dict[tuple[str, str | None, int | None], _Needs] = {}
    for layer in view.layers:
        needed = layer.needed_ns(ceiling)
        if layer.step is None or layer.is_model or layer.type in RECURRENT or layer.host_ops:
            continue
        if not _is_users(layer) and layer.settings.get("groups", 1) <= 1:
            continue  # the framework's own layers are as fast as it has kernels for them
        if not needed or layer.step.value < max(SHORT_NS, SLOWNESS * needed):
            continue
        found.setdefault((layer.type, layer.file, layer.line), []).append((layer, needed))
    alike = max(found.values(), key=_lost, default=[])
    alike.sort(key=lambda pair: -_lost([pair]))
    share = sum(layer_share(view, layer).value for layer, _ in alike)
    return alike if share >= SHARE else []


def _lost(alike: _Needs) -> float:
    return sum(layer.step.value - needed for layer, needed in alike if layer.step is not None)


def _is_users(layer: LayerCost) -> bool:
    return layer.is_user or layer.type == "Lambda"


def _advice(slow: LayerCost) -> str:
    if slow.settings.get("groups", 1) > 1:
        return "a plain or separable convolution instead of groups (another model)"
    if slow.loops:
        return "it loops over samples: vectorise it over the whole batch"
    return "write it with operations on the whole batch, or use another layer"


RULE = SlowLayer()
