"""# no-overlap (IN010)

## What it finds
Loading and training take turns: while one works, the other waits.

## Why it is slow
A step then takes loading plus computing instead of the longer of the two. On torch, Keras reads
generators and single-worker data in the training thread. TensorFlow and JAX mostly overlap by
themselves.

## Evidence
- a real step takes about as long as a step on a frozen batch plus a batch of the loader alone: less
  than ${LITTLE_OVERLAP:percent} of the shorter one is hidden;
- training waits for at least ${WAITED_SHARE:percent} of each batch's loading;
- the loader alone takes less than ${NEARLY_HIDDEN} steps, so overlap would hide all or nearly all
  of it;
- loading keeps at most ${WAITING_CORES} cores busy, or loading and the step together need at most
  ${CORES_SHARE:percent} of the cores.

## Predicted gain
The longer of step and loader instead of their sum; their CPU time together must fit the cores.

## Example
```python
model.fit(read_batches())                       # a generator, on torch
```

## Use instead
```python
class Batches(keras.utils.PyDataset): ...
model.fit(Batches(workers=2))
torch.utils.data.DataLoader(data, num_workers=2, persistent_workers=True)
```

## Fix safety
As for IN002: with workers, a PyDataset on JAX or torch starts every epoch one batch later, and a
`DataLoader` draws another order: unsafe. `fitdoctor.read_ahead` keeps a generator's batches in
their order. It is unsafe only if the generator shares its random numbers with other code.

## When not to
- The loader is far slower than the step: IN001 or IN002.
- All cores are busy in both: overlapped, they would only slow each other down.
"""

from __future__ import annotations

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import input_place
from fitdoctor.rules.support.read_ahead import ahead
from fitdoctor.rules.support.workers import with_processes, with_threads
from fitdoctor.units import duration

# Data that Keras may read in the training thread; arrays are sliced, tf.data has threads.
PYTHON_KINDS = frozenset({"generator", "PyDataset", "DataLoader"})
# The training waits for at least this part of every batch.
WAITED_SHARE = 0.75
# Loader and step together may use this share of the cores.
CORES_SHARE = 0.95
# A loader that uses no more than this waits: it needs no core of its own.
WAITING_CORES = 0.3


class NoOverlap(Rule):
    summary = "loading and training take turns instead of running side by side"
    safety = "safe"
    numbers_from = (loading,)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """Step and loader add up, and would fit beside each other."""
        loader = view.loader
        if loader is None or view.input.kind not in PYTHON_KINDS:
            return None
        if not loading.input_is_slow(view) or not loading.is_taken_in_turns(view):
            return None
        # Side by side, loader and step slow each other down; in turns, the step waits it out.
        if view.costs.parts.get("input_wait", 0.0) < WAITED_SHARE * loader.ns.value:
            return None
        if not _fits_beside(view, loader):
            return None
        cores, step = loader.busy_cores, view.ceiling_step.value
        saved = loading.saved_by(view, loader.ns, overlapped=True, cores=cores)
        return self.finding(
            view,
            f"a step takes {duration(view.core.value)}: {duration(loader.ns.value)} to load "
            f"and {duration(step)} to compute, one after the other",
            _cure(view),
            saves={"input_wait": saved},
            where=input_place(view),
            evidence={
                "step_ns": round(view.core.value),
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(step),
                "loader_cores": round(cores, 2),
            },
        )


def _fits_beside(view: View, loader: Loader) -> bool:
    """Work of the two per step, against the cores for the longer of them.

    A loader that waits needs no core, and runs beside a step that uses all of them.
    """
    cores, step = loader.busy_cores, view.ceiling_step.value
    work = loader.ns.value * cores + step * min(view.frozen_cores, view.cpus)
    longer = max(step, loader.ns.value)
    return cores <= WAITING_CORES or work <= CORES_SHARE * view.cpus * longer


def _cure(view: View) -> Cure:
    if view.input.kind == "DataLoader":
        return with_processes(view, "2")
    if view.input.kind == "PyDataset":
        return with_threads(view, "give the PyDataset workers=2", "2")
    if view.recorded.kind == "loop":
        return ahead(
            view,
            "let a thread make the next batch: for … in fitdoctor.read_ahead(…), or a DataLoader "
            "with workers",
        )
    return ahead(
        view,
        "let a thread make the next batch: fit(fitdoctor.read_ahead(...)), or a "
        "keras.utils.PyDataset with workers=2",
    )


RULE = NoOverlap()
