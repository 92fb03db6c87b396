"""# per-element-pipeline (IN005)

## What it finds
The pipeline handles its data one element at a time, and the handling costs more than the work.

## Why it is slow
Every element costs some microseconds per tf.data stage, and some dozens if it comes from a Python
generator, however little work it needs. A batch of 256 pays that 256 times. A pipeline that works
on whole batches pays it once.

## Evidence
Training waits for its data (gain of ${WORTH_GAIN:gain} or more on a frozen batch,
${EXPLAINED_SHARE:percent} of it explained by the loader), and one of these holds:
- the pipeline with `batch` before `map` was timed, is faster, and gave the same batch bit for bit
  or except for rounding;
- the same arrays, read as `fit(x, y)` reads them, were timed and are faster;
- the Python generator alone takes at most ${OWN_SHARE:percent} of what its elements cost in the
  pipeline, and a batch has ${SMALL_BATCH} elements or more.

## Predicted gain
The changed pipeline's own time, overlapped with the step. For a generator: its own time, plus one
crossing per batch instead of one per element. That crossing takes ${CROSSINGS_PER_BATCH} times as
long, because it copies more bytes.

## Example
```python
tf.data.Dataset.from_tensor_slices(x).map(lambda x: x * 2 + 1).batch(256)
```

## Use instead
```python
tf.data.Dataset.from_tensor_slices(x).batch(256).map(lambda x: x * 2 + 1)
model.fit(x, y, batch_size=256)             # arrays in memory need no dataset
def batches(): yield x[i : i + 32]          # a generator of batches
```

## Fix safety
Batch before map: the same numbers (checked here). Arrays instead of a shuffled dataset: the same
samples in another random order. A generator of known length needs
`.apply(tf.data.experimental.assert_cardinality(n))` to keep the step count exact.

## When not to
- The function needs single elements (decoding images, text of varying length).
- The work per element is real work: IN001 or IN004.
"""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import AsArrays, BatchFirst, InChunks
from fitdoctor.findings.edits import FITDOCTOR, CallInstead
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import loading
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, maps_behind
from fitdoctor.rules.support.slow_loader import crossing_of
from fitdoctor.units import duration

# The generator's own Python may take this share of an element at most.
OWN_SHARE = 0.5
# A batch of fewer elements hardly pays for their handling.
SMALL_BATCH = 4
FROM_GENERATOR = "fitdoctor.from_generator"
# Chunks that were tried are the cure where they gain this part of what batches should gain.
AS_MUCH = 0.95
# A batch from a generator costs a few crossings of single elements (more bytes to copy).
CROSSINGS_PER_BATCH = Interval(2.0, 1.0, 4.0)
# Stages that may lie between a batch and the maps that the trial moved after it.
HANDED_ON = frozenset({"cache", "prefetch", "repeat", "shuffle", "skip", "take"})


class PerElementPipeline(Rule):
    summary = "elements are handled one by one, which costs more than the work on them"
    safety = "safe"
    numbers_from = (loading,)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """The best of the three ways to handle whole batches."""
        loader = view.loader
        if loader is None or not loading.input_is_slow(view):
            return None
        ways = (self._batch_first, self._arrays, self._generator)
        found = [one for way in ways if (one := way(view, loader)) is not None]
        return max(found, key=lambda one: one.gain.value, default=None)

    def _batch_first(self, view: View, loader: Loader) -> Finding | None:
        trial = view.trial(BatchFirst)
        if trial is None or not (trial.found.same or trial.found.close):
            return None
        same = trial.found.same
        # The batch that collects single elements is the one nearest to the source.
        batch = next((stage for stage in reversed(view.stages) if stage.op == "batch"), None)
        cure = Cure(
            "safe" if same else "unsafe",
            "put batch() before map(): the function gives the same on whole batches"
            + ("" if same else ", except for rounding"),
            maps_behind(view, batch, across=HANDED_ON),
        )
        saved, after = loading.saved_by_trial(view, trial), trial.ns.value
        stage = view.stage(trial.found.stage)
        return self._whole_batches(view, loader, stage, cure, saved, after, "map after batch")

    def _arrays(self, view: View, loader: Loader) -> Finding | None:
        trial = view.trial(AsArrays)
        if trial is None:
            return None
        shuffles = any(stage.op == "shuffle" for stage in view.stages)
        cure = Cure(
            "unsafe" if shuffles else "safe",
            "pass the arrays themselves: fit(x, y, batch_size=...)"
            + (" (shuffled again, in another order)" if shuffles else ""),
        )
        saved, after = loading.saved_by_trial(view, trial), trial.ns.value
        stage = view.stage(trial.found.source)
        return self._whole_batches(view, loader, stage, cure, saved, after, "arrays given to fit")

    def _generator(self, view: View, loader: Loader) -> Finding | None:
        crossing = crossing_of(view)
        if crossing is None or crossing.per_batch < SMALL_BATCH:
            return None
        stage, per_batch, element_ns, own_ns = crossing
        if own_ns > OWN_SHARE * element_ns:
            return None
        # Collecting single elements into a batch goes away with them.
        own = Interval.exact(own_ns * per_batch)
        after = CROSSINGS_PER_BATCH.scaled(element_ns - own_ns) + own
        text = "let the generator yield whole batches, or pass the arrays themselves to fit"
        saved, what = loading.saved_by(view, after, overlapped=False), "a generator of batches"
        found = self._whole_batches(
            view, loader, stage, Cure("advice", text), saved, after.value, what
        )
        chunks = self._chunks(view, loader, stage)
        if chunks is None:
            return found
        # What was tried counts for more than what batches are expected to give.
        is_enough = chunks.gain.value >= AS_MUCH * found.gain.value
        return chunks if is_enough else replace(found, partly=chunks)

    def _chunks(self, view: View, loader: Loader, stage: StageCost) -> Finding | None:
        """The same rows handed over in chunks, which is a change of one name."""
        trial = view.trial(InChunks)
        edits = at(line_of(stage), CallInstead, "from_generator", FROM_GENERATOR, (FITDOCTOR,))
        if trial is None or not edits:
            return None
        cure = Cure(
            # It is read some rows ahead, which matters where it draws random numbers.
            "safe" if trial.found.repeats else "unsafe",
            "call fitdoctor.from_generator, which hands over the same rows in chunks",
            edits,
        )
        saved, after = loading.saved_by_trial(view, trial), trial.ns.value
        found = self._whole_batches(view, loader, stage, cure, saved, after, "rows in chunks")
        return found if found.gain.value >= WORTH_GAIN else None

    def _whole_batches(
        self,
        view: View,
        loader: Loader,
        stage: StageCost | None,
        cure: Cure,
        saved: Interval,
        after_ns: float,
        what: str,
    ) -> Finding:
        elements = stage.per_batch if stage is not None else None
        many = f" for {elements:.0f} elements" if elements else ""
        return self.finding(
            view,
            f"one batch takes {duration(loader.ns.value)}{many}, handled one by one; "
            f"{duration(after_ns)} with {what}; the step itself takes "
            f"{duration(view.ceiling_step.value)}",
            cure,
            saves={"input_wait": saved},
            where=line_of(stage),
            evidence={
                "loader_ns": round(loader.ns.value),
                "loader_after_ns": round(after_ns),
                "frozen_step_ns": round(view.ceiling_step.value),
                "elements_per_batch": elements,
                "changed": what,
            },
        )


RULE = PerElementPipeline()
