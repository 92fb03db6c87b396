"""# sequential-map (IN012)

## What it finds
A `map` runs one call at a time although cores are free, and training waits for it.

## Why it is slow
TensorFlow runs a map in parallel by itself only if its function has no state. A function with
random ops has state, and runs serially unless `num_parallel_calls` is given.

## Evidence
- training waits for its data: a frozen batch gains ${WORTH_GAIN:gain} or more, and loading explains
  at least ${EXPLAINED_SHARE:percent} of that;
- a `map` with a stateful (random) function has no `num_parallel_calls`;
- the pipeline with `num_parallel_calls=AUTOTUNE` was timed on this machine, and is faster.

## Predicted gain
The changed pipeline, overlapped with the step as far as there are cores for both.

## Example
```python
dataset.map(random_augmentation).batch(32)
```

## Use instead
```python
dataset.map(random_augmentation, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Fix safety
The same samples in the same order. But other samples get the random numbers, and they differ from
run to run.

## When not to
- The function is stateless: TensorFlow does it already.
- The function is Python: its lock allows one call at a time (IN001).
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import ParallelMap
from fitdoctor.findings.edits import TENSORFLOW
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import parallel_calls
from fitdoctor.units import duration


class SequentialMap(Rule):
    summary = "a map with random ops runs one call at a time while cores are free"
    safety = "unsafe"
    numbers_from = (loading,)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """The pipeline with parallel calls was tried, and is faster."""
        trial, loader = view.trial(ParallelMap), view.loader
        if trial is None or loader is None or not loading.input_is_slow(view):
            return None
        stage = view.stage(trial.found.stage)
        if stage is None or trial.left.value >= 1.0:
            return None
        # TensorFlow runs the others in parallel by itself.
        serial = [s for s in view.stages if s.op == "map" and s.random and s.parallel is None]
        return self.finding(
            view,
            f"one batch takes {duration(loader.ns.value)} with one call of this map at a "
            f"time ({loader.cores:.1f} of {view.cpus} cores busy), "
            f"{duration(trial.ns.value)} with several",
            Cure(
                self.safety,
                "num_parallel_calls=tf.data.AUTOTUNE on the map (random numbers then fall on "
                "other samples)",
                parallel_calls(serial, "tf.data.AUTOTUNE", (TENSORFLOW,)),
            ),
            saves={"input_wait": loading.saved_by_trial(view, trial)},
            where=line_of(stage),
            evidence={
                "loader_ns": round(loader.ns.value),
                "parallel_loader_ns": round(trial.ns.value),
                "busy_cores": round(loader.cores, 2),
                "frozen_step_ns": round(view.ceiling_step.value),
            },
        )


RULE = SequentialMap()
