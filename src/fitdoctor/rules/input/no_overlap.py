"""# no-overlap (IN010)

## What it finds
Loading and training take turns: while one works, the other waits.

## Why it is slow
A step then takes loading plus computing, though the longer of the two would do. On torch, Keras
reads generators and single-worker data in the training thread; TensorFlow and JAX mostly overlap
by themselves.

## Evidence
- a real step takes about as long as a step on a frozen batch plus a batch of the loader alone;
- the training was seen to wait for at least three quarters of each batch's loading;
- the loader alone takes less than 1.5 steps, so that side by side it would be hidden or nearly so;
- while loading, cores are idle that a step beside it could use.

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
As for IN002: with workers, a PyDataset on JAX or torch begins every epoch one batch later, and a
`DataLoader` draws its order otherwise: unsafe. `fitdoctor.read_ahead` gives a generator's own
batches in their order; unsafe only where the generator draws random numbers that others draw, too.

## When not to
- The loader is far slower than the step: IN001 or IN002.
- All cores are busy in both: side by side they would only slow each other down.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import input_is_slow, is_taken_in_turns, saved_by
from fitdoctor.rules.support.places import loader_options
from fitdoctor.rules.support.read_ahead import ahead
from fitdoctor.rules.support.workers import threads_safety
from fitdoctor.units import duration

PAGE = __doc__ or ""

# Data that Keras may read in the training thread; arrays are sliced, tf.data has threads.
PYTHON_KINDS = frozenset({"generator", "PyDataset", "DataLoader"})
# The training waits for at least this part of every batch.
WAITED_SHARE = 0.75
# Loader and step together may use this share of the cores.
CORES_SHARE = 0.95
WAITING_CORES = 0.3


class NoOverlap:
    """IN010."""

    code = "IN010"
    name = "no-overlap"
    summary = "loading and training take turns instead of running side by side"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """Step and loader add up, and would fit beside each other."""
        loader = view.loader
        if loader is None or view.input.get("kind") not in PYTHON_KINDS:
            return None
        if not input_is_slow(view) or not is_taken_in_turns(view):
            return None
        # Side by side, loader and step slow each other down; in turns, the step waits it out.
        if view.costs.parts.get("input_wait", 0.0) < WAITED_SHARE * loader.ns.value:
            return None
        cores = loader.cores + loader.children_cores
        step = view.ceiling_step
        # Work of the two per step, against the cores for the longer of them. A loader that waits
        # needs no core, and runs beside a step that uses all of them.
        work = loader.ns.value * cores + step.value * min(view.frozen_cores, view.cpus)
        if cores > WAITING_CORES and work > CORES_SHARE * view.cpus * max(
            step.value, loader.ns.value
        ):
            return None
        saved = saved_by(view, loader.ns, overlapped=True, cores=cores)
        kind = str(view.input.get("kind", "data"))
        facts = view.input
        where = Where(str(facts["file"]), int(facts["line"])) if facts.get("file") else None
        recorded = view.recorded
        if where is None and recorded.file:
            where = Where(recorded.file, recorded.line or 0)
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"a step takes {duration(view.core.value)}: {duration(loader.ns.value)} to load "
                f"and {duration(step.value)} to compute, one after the other"
            ),
            gain=gain(view.costs.total, saved),
            cure=_cure(view, kind),
            evidence={
                "step_ns": round(view.core.value),
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(step.value),
                "loader_cores": round(cores, 2),
            },
            saves={"input_wait": saved},
        )


def _cure(view: View, kind: str) -> Cure:
    text = _advice(view, kind)
    if kind == "generator":
        return ahead(view, text)
    # Workers that stay draw their random numbers, and the sampler its order, otherwise.
    safety, changes = threads_safety(view) if kind == "PyDataset" else ("unsafe", "")
    return Cure(safety, f"{text}; {changes}" if changes else text, _edits(view, kind))


def _edits(view: View, kind: str) -> tuple[Edit, ...]:
    if kind == "DataLoader":
        return loader_options(view, num_workers="2", persistent_workers="True")
    return loader_options(view, workers="2") if kind == "PyDataset" else ()


def _advice(view: View, kind: str) -> str:
    if view.recorded.kind == "loop" and kind == "generator":
        return (
            "read ahead in another thread: tf.data.Dataset.from_generator(…).prefetch(2), or a "
            "DataLoader with workers"
        )
    if kind == "DataLoader":
        return "DataLoader(num_workers=2, persistent_workers=True)"
    if kind == "PyDataset":
        return "give the PyDataset workers=2"
    return (
        "let a thread make the next batch: fit(fitdoctor.read_ahead(...)), or a "
        "keras.utils.PyDataset with workers=2"
    )


RULE = NoOverlap()
