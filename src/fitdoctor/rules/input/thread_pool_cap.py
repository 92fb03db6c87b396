"""# thread-pool-cap (IN003)

## What it finds
A tf.data stage asks for many parallel calls that mostly wait, but tf.data's thread pool runs only
one per core.

## Why it is slow
`num_parallel_calls=64` allows 64 calls; the default pool has one thread per core. For calls
that compute this is right. For calls that wait, all threads wait while the CPU is idle.

## Evidence
- a real step takes longer than one on a frozen batch (gain of ${WORTH_GAIN:gain} or more), and the
  loader alone explains at least ${EXPLAINED_SHARE:percent} of the difference;
- while the loader runs alone, fewer than ${BUSY_CORES} cores are busy;
- a stage of the pipeline already asks for parallel calls.

## Predicted gain
The same pipeline with that many threads, timed on this machine, overlapped with the step.

## Example
```python
dataset.map(read_remote, num_parallel_calls=64)
```

## Use instead
```python
options = tf.data.Options()
options.threading.private_threadpool_size = 64
dataset = dataset.with_options(options)
```

## Fix safety
Same samples in the same order. Each further thread keeps one more element in memory.

## When not to
The CPU is busy while loading: more threads than cores then only get in each other's way.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.limits import TF_DATA_READS
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support import slow_loader
from fitdoctor.rules.support.places import pool_size
from fitdoctor.rules.support.reads import (
    is_pool_capped,
    read_place,
    saved_in_flight,
    waiting_stage,
)
from fitdoctor.units import duration


class ThreadPoolCap(Rule):
    summary = "parallel tf.data calls wait in a pool that has only as many threads as cores"
    safety = "safe"
    numbers_from = (loading, slow_loader)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """Slow input, an idle CPU, and parallel calls already asked for."""
        loader = view.loader
        if loader is None or not loading.input_is_slow(view) or not is_pool_capped(view):
            return None
        # As many threads as calls are asked for; AUTOTUNE (-1) asks for as many as help.
        asked = [stage.parallel for stage in view.stages if stage.parallel]
        threads = max((TF_DATA_READS if one < 0 else one for one in asked), default=0)
        if not slow_loader.only_waits(loader) or threads <= view.cpus:
            return None
        busy = loader.busy_cores
        return self.finding(
            view,
            f"one batch takes {duration(loader.ns.value)} with only {busy:.1f} cores busy: "
            f"parallel calls are asked for, but the pool runs {view.cpus} at a time",
            Cure(
                self.safety,
                f"options.threading.private_threadpool_size={threads} on the dataset",
                pool_size(waiting_stage(view), threads),
            ),
            saves={"input_wait": saved_in_flight(view, loader, threads / view.cpus)},
            where=read_place(view),
            evidence={
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "busy_cores": round(busy, 2),
                "pool_threads": view.cpus,
                "pool_threads_after": threads,
            },
        )


RULE = ThreadPoolCap()
