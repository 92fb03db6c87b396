"""# host-augmentation (IN013)

## What it finds
Random augmentation keeps all CPU cores busy while an accelerator waits for it.

## Why it is slow
A `map` of tf.data always runs on the CPU. Augmentation layers in the model run on the model's
device; on a fast accelerator they cost a fraction.

Called from a `PyDataset` or a torch dataset, the same layers start one operation at a time.

## Evidence
- there is an accelerator, and training waits for its data: a frozen batch gains
  ${WORTH_GAIN:gain} or more, and loading explains at least ${EXPLAINED_SHARE:percent} of that;
- for a tf.data pipeline: the loader alone keeps at least ${BUSY_SHARE:percent} of the cores busy,
  so more threads cannot help; stages with random ops take at least ${RANDOM_SHARE:percent} of its
  CPU time, and cannot be cached;
- for a `PyDataset` or a `DataLoader`: Keras layers with random numbers take at least
  ${RANDOM_SHARE:percent} of the time to make a batch; timed in the model, these layers take less
  than ${WORTH_MOVING:percent} of that.

## Predicted gain
Loading without those stages or layers, overlapped with the step. Layers were tried in the model.
The cost of tf.data stages on the accelerator is not known: we assume ${FASTER_THERE} times faster.

## Example
```python
dataset.map(lambda x, y: (augment(x), y), num_parallel_calls=AUTOTUNE)
```

## Use instead
```python
model = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.1), ...])
```

## Fix safety
The random numbers change. The augmentation stays the same only if Keras has the layer. Some layers
switch XLA off for the model: measure.

## When not to
The model trains on the CPU: the work is the same in either place.
"""

from __future__ import annotations

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support import slow_loader
from fitdoctor.rules.support.places import input_place
from fitdoctor.units import duration, percent

# So many of the cores are busy while loading alone: more threads cannot help.
BUSY_SHARE = 0.8
# The accelerator is this much faster at the same augmentation (usual, least, most).
FASTER_THERE = Interval(10.0, 2.0, 50.0)


class HostAugmentation(Rule):
    summary = "random augmentation fills the CPU while the accelerator waits"
    safety = "unsafe"
    numbers_from = (loading, slow_loader)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """An accelerator that waits for augmentation on the host."""
        loader = view.loader
        if not view.accelerators or loader is None or not loading.input_is_slow(view):
            return None
        return self._layers(view, loader) or self._stages(view, loader)

    def _layers(self, view: View, loader: Loader) -> Finding | None:
        """Layers that the loader calls were tried in the model."""
        called, frozen = slow_loader.layers_in_loader(view), view.frozen
        left = view.left_by_change("augmented")
        if called is None or left is None or frozen is None:
            return None
        after = loader.ns.scaled(1.0 - min(1.0, called.share))
        ratios = (left.value, left.low, left.high)
        longer = Interval(*(frozen.value * max(0.0, one - 1.0) for one in ratios))
        saved = loading.saved_by(view, after, overlapped=False).minus(longer)
        names = ", ".join(dict.fromkeys(called.layers))
        return self.finding(
            view,
            f"{names} take {duration(called.layers_ns)} of the {duration(called.batch_ns)} "
            f"that making a batch takes; in the model they add {duration(longer.value)} to a "
            f"step of {duration(frozen.value)}",
            Cure(self.safety, f"make {names} the first layers of the model"),
            saves={"input_wait": saved},
            where=input_place(view),
            evidence={
                "loader_ns": round(loader.ns.value),
                "layers_share": round(called.share, 3),
                "step_with_layers_ns": round(frozen.value * left.value),
                "frozen_step_ns": round(view.ceiling_step.value),
            },
        )

    def _stages(self, view: View, loader: Loader) -> Finding | None:
        """All cores busy, and random stages of a pipeline that take much of it."""
        random = [stage for stage in view.stages if stage.random and not stage.python]
        if not random or loader.cores < BUSY_SHARE * view.cpus:
            return None
        work = sum(stage.own_cpu_ns or 0.0 for stage in random)
        whole = loader.ns.value * loader.cores
        if work < slow_loader.RANDOM_SHARE * whole:
            return None
        share = min(1.0, work / whole)
        there = loader.ns.scaled(share).divided_by(FASTER_THERE)
        saved = loading.saved_by(view, loader.ns.scaled(1.0 - share) + there, overlapped=False)
        return self.finding(
            view,
            f"random stages take {percent(share)} of loading a batch "
            f"({duration(loader.ns.value)}, all {view.cpus} cores busy) while the accelerator "
            "waits",
            Cure(self.safety, "use Keras augmentation layers inside the model"),
            saves={"input_wait": saved},
            where=line_of(max(random, key=lambda one: one.work_ns)),
            evidence={
                "loader_ns": round(loader.ns.value),
                "random_cpu_ns": round(work),
                "busy_cores": round(loader.cores, 2),
                "frozen_step_ns": round(view.ceiling_step.value),
            },
        )


RULE = HostAugmentation()
