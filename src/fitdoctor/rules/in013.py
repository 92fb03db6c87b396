"""# host-augmentation (IN013)

## What it finds
Random augmentation keeps all CPU cores busy while an accelerator waits for it.

## Why it is slow
A `map` of tf.data always runs on the CPU. Augmentation layers in the model run where the model
runs; on a fast accelerator they cost a fraction.

## Evidence
- there is an accelerator, and training waits for its data;
- while loading alone, at least 80 % of the cores are busy: more threads cannot help;
- stages with random ops take at least a third of the CPU time of loading, and cannot be cached.

## Predicted gain
Loading without those stages, beside the step. What the same augmentation costs on the accelerator
is not known before it is tried, so the upper end of the step is wide.

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

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.prediction.joint import gain
from fitdoctor.prediction.loader_cure import input_is_slow, saved_by
from fitdoctor.units import duration

PAGE = __doc__ or ""

BUSY_SHARE = 0.8
RANDOM_SHARE = 1 / 3
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
        """An accelerator, all cores busy, and random stages that take much of it."""
        loader = view.loader
        if not view.accelerators or loader is None or not input_is_slow(view):
            return None
        if loader.cores < BUSY_SHARE * view.cpus:
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


RULE = HostAugmentation()
