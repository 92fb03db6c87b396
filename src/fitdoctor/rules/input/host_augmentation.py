"""# host-augmentation (IN013)

## What it finds
Random augmentation keeps all CPU cores busy while an accelerator waits for it.

## Why it is slow
A `map` of tf.data always runs on the CPU. Augmentation layers in the model run where the model
runs; on a fast accelerator they cost a fraction.

The same layers called from a `PyDataset` or a torch dataset are started one operation at a time.

## Evidence
- there is an accelerator, and training waits for its data;
- of a tf.data pipeline: while loading alone, at least 80 % of the cores are busy, so that more
  threads cannot help, and stages with random ops take at least a third of the CPU time of loading,
  and cannot be cached;
- of a `PyDataset` or a `DataLoader`: Keras layers with random numbers take at least a third of the
  time in which a batch is made, and the step with these layers in front of the model was timed.

## Predicted gain
Loading without those stages or layers, beside the step. Layers were tried in the model; what stages
of a tf.data pipeline cost on the accelerator is not known, so the upper end of the step is wide.

## Example
```python
dataset.map(lambda x, y: (augment(x), y), num_parallel_calls=AUTOTUNE)
```

## Use instead
```python
model = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.1), ...])
```

## Fix safety
Other random numbers, and the same kind of augmentation only where Keras has the layer. Some
layers switch XLA off for the model: measure.

## When not to
The model trains on the CPU: the work is the same wherever it is written.
"""

from __future__ import annotations

from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import input_is_slow, saved_by
from fitdoctor.units import duration

PAGE = __doc__ or ""

BUSY_SHARE = 0.8
RANDOM_SHARE = 1 / 3
# In the model the layers take at most this part of what they take in the loader.
WORTH_MOVING = 0.5
# The accelerator is this much faster at the same augmentation (usual, least, most).
FASTER_THERE = Interval(10.0, 2.0, 50.0)


class HostAugmentation:
    """IN013."""

    code = "IN013"
    name = "host-augmentation"
    summary = "random augmentation fills the CPU while the accelerator waits"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """An accelerator that waits for augmentation on the host."""
        if not view.accelerators or view.loader is None or not input_is_slow(view):
            return None
        return self._layers(view) or self._stages(view)

    def _layers(self, view: View) -> Finding | None:
        """Layers that the loader calls were tried in the model."""
        loader, tried = view.loader, layers_in_loader(view)
        left = view.left_by_change("augmented")
        if tried is None or left is None or loader is None or view.frozen is None:
            return None
        after = loader.ns.scaled(1.0 - min(1.0, tried["share"]))
        longer = Interval(
            view.frozen.value * max(0.0, left.value - 1.0),
            view.frozen.value * max(0.0, left.low - 1.0),
            view.frozen.value * max(0.0, left.high - 1.0),
        )
        saved = saved_by(view, after, overlapped=False).minus(longer)
        names = ", ".join(dict.fromkeys(tried["layers"]))
        return Finding(
            rule=self.code,
            name=self.name,
            where=_loader_place(view),
            message=(
                f"{names} take {duration(tried['layers_ns'])} of the {duration(tried['batch_ns'])} "
                f"that making a batch takes; in the model they add {duration(longer.value)} to a "
                f"step of {duration(view.frozen.value)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(self.safety, f"make {names} the first layers of the model"),
            evidence={
                "loader_ns": round(loader.ns.value),
                "layers_share": round(tried["share"], 3),
                "step_with_layers_ns": round(view.frozen.value * left.value),
                "frozen_step_ns": round(view.ceiling_step.value),
            },
            saves={"input_wait": saved},
        )

    def _stages(self, view: View) -> Finding | None:
        """All cores busy, and random stages of a pipeline that take much of it."""
        loader = view.loader
        if loader is None or loader.cores < BUSY_SHARE * view.cpus:
            return None
        random = [stage for stage in view.stages if stage.random and not stage.python]
        work = sum(stage.own_cpu_ns or 0.0 for stage in random)
        whole = loader.ns.value * loader.cores
        if not random or work < RANDOM_SHARE * whole:
            return None
        share = min(1.0, work / whole)
        moved = loader.ns.scaled(share)
        there = Interval(
            moved.value / FASTER_THERE.value,
            moved.low / FASTER_THERE.high,
            moved.high / FASTER_THERE.low,
        )
        saved = saved_by(view, loader.ns.scaled(1.0 - share) + there, overlapped=False)
        stage = max(random, key=lambda one: one.work_ns)
        return Finding(
            rule=self.code,
            name=self.name,
            where=Where(stage.file, stage.line or 0) if stage.file else None,
            message=(
                f"random stages take {share:.0%} of loading a batch "
                f"({duration(loader.ns.value)}, all {view.cpus} cores busy) while the accelerator "
                "waits"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(self.safety, "use Keras augmentation layers inside the model"),
            evidence={
                "loader_ns": round(loader.ns.value),
                "random_cpu_ns": round(work),
                "busy_cores": round(loader.cores, 2),
                "frozen_step_ns": round(view.ceiling_step.value),
            },
            saves={"input_wait": saved},
        )


def layers_in_loader(view: View) -> dict[str, Any] | None:
    """Random Keras layers that take much of making a batch, and little of it in the model.

    On torch, which starts operations one by one in the model as well, nothing may be gained.
    """
    tried, left = view.result("augmentation"), view.left_by_change("augmented")
    if not tried or left is None or view.frozen is None or tried["share"] < RANDOM_SHARE:
        return None
    in_model = view.frozen.value * (left.value - 1.0)
    return tried if in_model < WORTH_MOVING * tried["layers_ns"] else None


def _loader_place(view: View) -> Where | None:
    file, line = view.input.get("file"), view.input.get("line")
    return Where(str(file), int(line)) if file and line else place_of(view.recorded)


RULE = HostAugmentation()
