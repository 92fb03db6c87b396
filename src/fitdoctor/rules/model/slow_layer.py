"""# slow-layer (MO003)

## What it finds
One layer takes far longer than its arithmetic needs on this machine, or a step calls it many times
when once is enough.

## Why it is slow
The framework has no good kernel for it (grouped convolutions on a CPU), or the layer works sample
by sample (`map_fn`, `vectorized_map` that falls back, a Python loop): thousands of small
operations instead of one large one.

## Evidence
All of these, and a predicted gain of at least ${WORTH_CHANGE:gain}:

- the layer alone, forward and backward, is ${SHARE:percent} of the step or more;
- it takes at least ${SLOWNESS} times what its multiplications and memory traffic take at the best
  rates measured on this machine (one large matrix product, one large copy), and at least
  ${SHORT_NS:ms};
- it is your own layer, or a Lambda, that loops over rows or positions (and contains no recurrent
  layer); or a grouped convolution, and a copy of the model with a plain one is faster.

Or one of these, with the same gain:

- layers that make a one-hot row of every single id take ${SHARE:percent} of the step or more;
- your own layer or loss maps over the rows one by one, and the step with all rows at once is
  faster;
- on torch: the model calls the layer ${MANY_CALLS} times or more in a step, no call needs what
  another computed (with the layer's outputs set to zero its inputs stay the same), and one call on
  all the inputs together is faster.

## Predicted gain
For a grouped convolution the step of that copy; for `tf.map_fn` and `keras.ops.map` the step with
`vectorized_map` in their place, for `jax.lax.map` with `jax.vmap`; for repeated calls the time of
one call instead. For other loops a bound: the step if the layer took only what it needs.

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
Vectorising keeps the result except for rounding. `fix` offers `vectorized_map` or `jax.vmap` if the
model gave the same result on a batch with it (unsafe: rounding). The rest is advice: another
convolution is another model.

## When not to
- Recurrent layers work step by step by nature.
- The layer does not loop: MO009 covers its time above its arithmetic.
"""

from __future__ import annotations

from fitdoctor.analysis.model_costs import LayerCost
from fitdoctor.analysis.one_hot import one_hot_layers, one_hot_ns
from fitdoctor.analysis.view import View
from fitdoctor.contract import limits
from fitdoctor.contract.evidence.model import MachineCeiling, OneCall, VectorisedStep
from fitdoctor.contract.limits import RECURRENT
from fitdoctor.contract.places import CallLine
from fitdoctor.findings.edits import Edit, RenameCall, VmapInstead
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import model_change
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import (
    WORTH_CHANGE,
    layer_share,
    real_step,
    saved_by_change,
    tried_change,
)
from fitdoctor.pricing.one_call import called_together, saved_by_one_call, timed_around
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.layers import alone_ns, layer_place, longest_alone
from fitdoctor.units import duration

SHARE = 0.2
SLOWNESS = 10.0
# Calling a layer alone takes some tenths of a millisecond, whatever it computes.
SHORT_NS = 2e6
SHOWN_LAYERS = 3
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


class SlowLayer(Rule):
    summary = "one layer takes far longer than its arithmetic needs, or is called too often"
    safety = "advice"
    numbers_from = (limits, model_change)
    # Too few cores make every kind of step slower.
    explained_by = frozenset({"EN002"})

    def detect(self, view: View) -> Finding | None:
        """The layer that loses most against what it needs, or by being called again and again."""
        if view.frozen is None or view.is_group:
            return None
        return self._one_call(view) or self._mapped(view) or self._slow(view) or self._one_hot(view)

    def _one_hot(self, view: View) -> Finding | None:
        """Rows of zeros with a single one, written out where a table could be looked up."""
        step, encodings = view.parts.get("step", 0.0), one_hot_layers(view)
        spent = one_hot_ns(view, step)
        if not encodings or spent < SHARE * step:
            return None
        found = Interval(spent, 0.0, spent)
        if gain(view.costs.total, found).value < WORTH_CHANGE:
            return None
        named = ", ".join(sorted(one.name for one in encodings)[:SHOWN_LAYERS])
        return self.finding(
            view,
            f"one-hot encodings ({named}) take {duration(spent)} of a step of {duration(step)}: "
            "rows of zeros with a single one",
            Cure(
                self.safety,
                "an Embedding of the next layer's width in place of the encoding and that layer: "
                "it looks the same rows up",
            ),
            where=layer_place(view, encodings[0]),
            saves={"step": found},
            evidence={"layers": len(encodings), "one_hot_ns": round(spent)},
            how="bound",
        )

    def _mapped(self, view: View) -> Finding | None:
        """A map over rows, where the vectorised form was tried."""
        tried = view.found(VectorisedStep)
        faster = tried_change(view, view.left_by(VectorisedStep), WORTH_CHANGE)
        if tried is None or faster is None or not tried.calls:
            return None
        slow = longest_alone(
            one for one in view.layers if one.loops and _is_users(one) and not one.is_model
        )
        # Without a layer that loops, the loss does.
        what = f"the layer {slow.name} ({slow.type})" if slow else "the loss"
        return self.finding(
            view,
            faster.in_words(f"{what} maps over its rows one by one:", "with all rows at once"),
            _vectorising(tried.calls),
            where=place_of(tried.calls[0]),
            saves=faster.saves,
            evidence={
                "layer": slow.name if slow else None,
                "type": slow.type if slow else None,
                "layer_ns": round(alone_ns(slow)) if slow else None,
                "vectorised_step_ns": round(faster.after.value),
                "loops": slow.loops if slow else None,
            },
            how="tried",
        )

    def _one_call(self, view: View) -> Finding | None:
        """A layer that was also tried with one call on all its inputs."""
        tried, together = view.found(OneCall), view.timed(OneCall)
        if tried is None or together is None:
            return None
        layer = next((one for one in view.layers if one.name == tried.layer), None)
        if layer is None:
            return None
        alike = called_together(view, layer)
        saved = saved_by_one_call(view, layer, together, alike)
        if saved is None or gain(view.costs.total, saved).value < WORTH_CHANGE:
            return None
        others = f" (and {len(alike) - 1} more beside it)" if len(alike) > 1 else ""
        return self.finding(
            view,
            f"the layer {layer.name} ({layer.type}){others} is called {layer.calls} times in every "
            f"step, {duration(layer.step_ns)} together; one call on all of it takes "
            f"{duration(together.value)}",
            Cure(
                self.safety,
                "call it once: reshape what the loop runs over into the batch, and back "
                "afterwards (or keras.layers.TimeDistributed)",
            ),
            where=layer_place(view, layer if layer.step is not None else timed_around(view, layer)),
            saves={"step": saved},
            evidence={
                "layer": layer.name,
                "type": layer.type,
                "calls": layer.calls,
                "layer_ns": round(layer.step_ns),
                "one_call_ns": round(together.value),
                "called_together": len(alike),
            },
            how="tried" if len(alike) == 1 else "modelled",
        )

    def _slow(self, view: View) -> Finding | None:
        alike = _slowest(view)
        saved = _saved(view, alike)
        if saved is None or view.frozen is None:
            return None
        if gain(view.costs.total, saved).value < WORTH_CHANGE:
            return None
        slow = alike[0][0]
        taken = sum(alone_ns(layer) for layer, _ in alike)
        needed = sum(needed for _, needed in alike)
        return self.finding(
            view,
            f"{_named(alike)} {duration(taken)} of a step of {duration(view.frozen.value)}; "
            f"the arithmetic needs about {duration(needed)}",
            Cure(self.safety, _advice(slow)),
            where=layer_place(view, slow),
            saves={"step": saved},
            evidence={
                "layer": slow.name,
                "type": slow.type,
                "layer_ns": round(taken),
                "needed_ns": round(needed),
                "layers": len(alike),
                "loops": slow.loops,
                "groups": int(slow.settings.get("groups", 1)),
            },
            how="tried" if _is_grouped(slow) else "bound",
        )


def _vectorising(calls: tuple[CallLine, ...]) -> Cure:
    replaced: dict[str, set[str]] = {}
    for one in calls:
        better = "jax.vmap" if one.call == LAX_MAP else "vectorized_map"
        replaced.setdefault(better, set()).add(one.call)
    changes = [
        f"{name} instead of {' and '.join(sorted(replaced[name]))}" for name in sorted(replaced)
    ]
    return Cure(
        "unsafe",
        f"{', '.join(changes)}: it gave the same result on a batch",
        tuple(_vectorised(one) for one in calls),
    )


def _vectorised(one: CallLine) -> Edit:
    where = Where(one.file, one.line)
    if one.call == LAX_MAP:
        return VmapInstead(where)
    # Arguments that give map_fn the result's type, or say how to run its loop, have no meaning
    # there.
    return RenameCall(where, one.call, "vectorized_map", drop=MAP_SETTINGS, positional=2)


_Needs = list[tuple[LayerCost, float]]  # layers, and what the arithmetic of each needs


def _saved(view: View, alike: _Needs) -> Interval | None:
    """What these layers save; None where there are none, or a copy without groups was not tried."""
    if not alike:
        return None
    if not _is_grouped(alike[0][0]):
        step = real_step(view)
        share = min(1.0, sum(layer_share(view, layer).value for layer, _ in alike))
        most = max(0.0, share * step - sum(needed for _, needed in alike))
        return Interval(most, 0.0, most)
    ungrouped = view.left_by_change("ungrouped")
    return saved_by_change(view, ungrouped) if ungrouped is not None else None


def _named(alike: _Needs) -> str:
    slow = alike[0][0]
    if len(alike) == 1:
        return f"the layer {slow.name} ({slow.type}) takes"
    # Called alone they do not overlap: together they may take longer than the step.
    return f"{len(alike)} layers {slow.type}, called alone, take"


def _slowest(view: View) -> _Needs:
    """The class of layers that loses most against what it needs, its slowest layer first."""
    ceiling = view.found(MachineCeiling)
    found: dict[tuple[str, str | None, int | None], _Needs] = {}
    for layer in view.layers:
        needed = layer.needed_ns(ceiling)
        if layer.step is None or layer.is_model or layer.type in RECURRENT or layer.host_ops:
            continue
        if not _loops_over_rows(view, layer) and not _is_grouped(layer):
            continue
        if not needed or layer.step.value < max(SHORT_NS, SLOWNESS * needed):
            continue
        found.setdefault((layer.type, layer.file, layer.line), []).append((layer, needed))
    alike = max(found.values(), key=_lost, default=[])
    alike.sort(key=lambda pair: -_lost([pair]))
    share = sum(layer_share(view, layer).value for layer, _ in alike)
    return alike if share >= SHARE else []


def _lost(alike: _Needs) -> float:
    return sum(alone_ns(layer) - needed for layer, needed in alike)


def _loops_over_rows(view: View, layer: LayerCost) -> bool:
    """A loop in a layer of the user's own that is no recurrent layer's."""
    inner = [one for one in view.layers if one.inside == layer.name]
    is_recurrent = any(one.type in RECURRENT for one in inner)
    return _is_users(layer) and bool(layer.loops) and not is_recurrent


def _is_users(layer: LayerCost) -> bool:
    return layer.is_user or layer.type == "Lambda"


def _is_grouped(layer: LayerCost) -> bool:
    return layer.settings.get("groups", 1) > 1


def _advice(slow: LayerCost) -> str:
    if _is_grouped(slow):
        return "a plain or separable convolution instead of groups (another model)"
    return "it loops over samples: vectorise it over the whole batch"


RULE = SlowLayer()
