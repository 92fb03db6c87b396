"""# per-element-pipeline (IN005)

## What it finds
The pipeline handles its data one element at a time, and the handling costs more than the work.

## Why it is slow
Every element that passes a tf.data stage costs some microseconds, and every element that comes
from a Python generator some dozens, however little is done to it. A batch of 256 pays that 256
times; a pipeline that works on whole batches pays it once.

## Evidence
One of, each with training waiting for its data:
- the pipeline with `batch` before `map` was timed, is faster, and gave the same batch bit for bit;
- the same arrays, read the way `fit(x, y)` reads them, were timed and come faster;
- the Python generator by itself takes less than half of what its elements cost in the pipeline.

## Predicted gain
The changed pipeline's own time, beside the step. For a generator: its own time, plus one crossing
per batch instead of one per element.

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

from fitdoctor.analysis.pipeline import StageCost, Trial
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import FITDOCTOR, CallInstead
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import input_is_slow, saved_by, saved_by_trial
from fitdoctor.rules.support.places import maps_behind, stage_place
from fitdoctor.units import duration

PAGE = __doc__ or ""

# The generator's own Python may take this share of an element at most.
OWN_SHARE = 0.5
SMALL_BATCH = 4
FROM_GENERATOR = "fitdoctor.from_generator"
WORTH_CHUNKS = 1.1
AS_MUCH = 0.95
# A batch from a generator costs a few crossings of single elements (more bytes to copy).
CROSSINGS_PER_BATCH = Interval(2.0, 1.0, 4.0)
# Stages that may lie between a batch and the maps that the trial moved behind it.
HANDED_ON = frozenset({"cache", "prefetch", "repeat", "shuffle", "skip", "take"})


class PerElementPipeline:
    """IN005."""

    code = "IN005"
    name = "per-element-pipeline"
    summary = "elements are handled one by one, which costs more than the work on them"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """The best of the three ways to handle whole batches."""
        if view.loader is None or not input_is_slow(view):
            return None
        found = [self._batch_first(view), self._arrays(view), self._generator(view)]
        real = [finding for finding in found if finding is not None]
        return max(real, key=lambda finding: finding.gain.value, default=None)

    def _batch_first(self, view: View) -> Finding | None:
        trial = view.trial("trial_batch_first")
        if trial is None or not agrees(trial):
            return None
        stage = view.stage(int(trial.data["stage"]))
        same = bool(trial.data.get("same"))
        return self._finding(
            view,
            stage,
            saved_by_trial(view, trial),
            Cure(
                "safe" if same else "unsafe",
                "put batch() before map(): the function gives the same on whole batches"
                + ("" if same else ", but for rounding"),
                maps_behind(view, _element_batch(view), across=HANDED_ON),
            ),
            after_ns=trial.ns.value,
            what="map after batch",
        )

    def _arrays(self, view: View) -> Finding | None:
        trial = view.trial("trial_arrays")
        if trial is None:
            return None
        stage = view.stage(int(trial.data["source"]))
        shuffles = any(s.op == "shuffle" for s in view.stages)
        safety: Safety = "unsafe" if shuffles else "safe"
        text = "pass the arrays themselves: fit(x, y, batch_size=...)"
        if shuffles:
            text += " (shuffled anew, in another order)"
        return self._finding(
            view,
            stage,
            saved_by_trial(view, trial),
            Cure(safety, text),
            after_ns=trial.ns.value,
            what="arrays given to fit",
        )

    def _generator(self, view: View) -> Finding | None:
        alone = view.result("generator_alone")
        stage = next((s for s in view.stages if s.op == "from_generator"), None)
        if not alone or stage is None or stage.ns is None or stage.per_batch is None:
            return None
        element_ns = stage.ns / stage.per_batch
        if stage.per_batch < SMALL_BATCH or alone["ns"] > OWN_SHARE * element_ns:
            return None
        crossing = element_ns - alone["ns"]
        # Collecting single elements into a batch goes away with them.
        after = CROSSINGS_PER_BATCH.scaled(crossing) + Interval.exact(alone["ns"] * stage.per_batch)
        found = self._finding(
            view,
            stage,
            saved_by(view, after, overlapped=False),
            Cure(
                "advice",
                "let the generator yield whole batches, or pass the arrays themselves to fit",
            ),
            after_ns=after.value,
            what="a generator of batches",
        )
        chunks = self._chunks(view, stage)
        if found is None or chunks is None:
            return found
        # What was tried counts for more than what batches are expected to give.
        is_enough = chunks.gain.value >= AS_MUCH * found.gain.value
        return chunks if is_enough else replace(found, partly=chunks)

    def _chunks(self, view: View, stage: StageCost) -> Finding | None:
        """The same rows handed over in chunks, which is a change of one name."""
        trial, where = view.trial("trial_chunks"), stage_place(stage)
        if trial is None or where is None:
            return None
        found = self._finding(
            view,
            stage,
            saved_by_trial(view, trial),
            Cure(
                # It is read some rows ahead, which matters where it draws random numbers.
                "safe" if trial.data.get("repeats") else "unsafe",
                "call fitdoctor.from_generator, which hands over the same rows in chunks",
                (CallInstead(where, "from_generator", FROM_GENERATOR, (FITDOCTOR,)),),
            ),
            after_ns=trial.ns.value,
            what="rows in chunks",
        )
        return found if found is not None and found.gain.value >= WORTH_CHUNKS else None

    def _finding(
        self,
        view: View,
        stage: StageCost | None,
        saved: Interval,
        cure: Cure,
        *,
        after_ns: float,
        what: str,
    ) -> Finding | None:
        loader = view.loader
        if loader is None:
            return None
        elements = stage.per_batch if stage is not None else None
        many = f" for {elements:.0f} elements" if elements else ""
        return Finding(
            rule=self.code,
            name=self.name,
            where=Where(stage.file, stage.line or 0) if stage is not None and stage.file else None,
            message=(
                f"one batch takes {duration(loader.ns.value)}{many}, handled one by one; "
                f"{duration(after_ns)} with {what}; the step itself takes "
                f"{duration(view.ceiling_step.value)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=cure,
            evidence={
                "loader_ns": round(loader.ns.value),
                "loader_after_ns": round(after_ns),
                "frozen_step_ns": round(view.ceiling_step.value),
                "elements_per_batch": elements,
                "changed": what,
            },
            saves={"input_wait": saved},
        )


def agrees(trial: Trial) -> bool:
    """Whether batching first gave the same batch, rounding apart."""
    return bool(trial.data.get("same") or trial.data.get("close"))


def _element_batch(view: View) -> StageCost | None:
    """The batch that collects single elements: the one nearest to the source."""
    return next((stage for stage in reversed(view.stages) if stage.op == "batch"), None)


RULE = PerElementPipeline()
