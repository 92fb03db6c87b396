"""# recomputed-preprocessing (IN004)

## What it finds
The same deterministic work (decoding, parsing, resizing, tokenising) is done again in every
epoch, and training waits for it.

## Why it is slow
A tf.data pipeline runs from its sources in every pass. What does not change from pass to pass
needs to be computed only once if its result fits in memory.

## Evidence
- a real step takes longer than a step on one batch held in memory, and loading explains it;
- the stages up to one point contain no random op and no shuffle, and where they run Python, two
  passes gave the same elements bit for bit;
- native work takes a notable part of loading (waiting alone is IN002, Python alone IN001);
- the pipeline with a cache at that point was timed, and is faster;
- the cached output fits in half of the free memory.

## Predicted gain
The pipeline with the cache, timed on this machine, beside the step; from the second epoch on. The
first epoch fills the cache and takes as long as now.

## Example
```python
files.map(decode_and_resize).shuffle(1000).batch(32)
```

## Use instead
```python
files.map(decode_and_resize).cache().shuffle(1000).batch(32)
```
`.cache(filename)` keeps it on disk where memory is short.

## Fix safety
Same samples, same order, same numbers. A source that shuffles by itself (`list_files`) keeps one
order afterwards: then put a `shuffle` behind the cache. Never cache after random augmentation:
every epoch would see the same.

## When not to
- Training runs for one epoch only.
- The output does not fit in memory: pack it to disk instead.
- The work is tiny and its cost is the overhead per element: IN005.
"""

from __future__ import annotations

from fitdoctor.analysis.pipeline import Trial
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.prediction.joint import gain
from fitdoctor.prediction.loader_cure import input_is_slow, saved_by_trial
from fitdoctor.rules._places import cached_after
from fitdoctor.rules.in005 import agrees
from fitdoctor.units import duration, size

PAGE = __doc__ or ""

# The cache may take this share of the free memory.
MEMORY_SHARE = 0.5
# One epoch that reads its data this often has most of it twice.
SECOND_PASS = 1.5
# Batching first removes at least this part of what a cache would: then overhead is the cause.
OVERHEAD_PART = 0.7


class RecomputedPreprocessing:
    """IN004."""

    code = "IN004"
    name = "recomputed-preprocessing"
    summary = "the same decoding or parsing is done again in every epoch, and training waits"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """A cache was tried, is faster, fits, and the data is read more than once."""
        trial = view.trial("trial_cache")
        if trial is None or view.loader is None or not input_is_slow(view):
            return None
        stage = view.stage(int(trial.data["stage"]))
        if stage is None or not _is_read_again(view, trial) or _is_overhead(view, trial):
            return None
        if _is_opening_files(view):
            return None
        kept, free = cached_bytes(view, trial), trial.data.get("available_bytes")
        if kept is not None and free is not None and kept > MEMORY_SHARE * free:
            return None
        saved = saved_by_trial(view, trial)
        keeps_order = bool(trial.data.get("keeps_order", True))
        is_safe = keeps_order and not trial.data.get("python")
        where = Where(stage.file, stage.line or 0) if stage.file else None
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"loading one batch takes {duration(view.loader.ns.value)} in every epoch, "
                f"{duration(trial.ns.value)} with the output of {stage.op} kept; "
                f"keeping it takes {'an unknown amount' if kept is None else size(kept)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                "safe" if is_safe else "unsafe",
                _advice(stage.op, keeps_order),
                cached_after(stage),
            ),
            evidence={
                "loader_ns": round(view.loader.ns.value),
                "cached_loader_ns": round(trial.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "cache_bytes": kept,
                "available_bytes": free,
                "from_epoch": 2,
                "runs_python": bool(trial.data.get("python")),
            },
            saves={"input_wait": saved},
        )


def _is_read_again(view: View, trial: Trial) -> bool:
    """Whether there is a second pass, also where `repeat` makes one epoch of many."""
    if view.passes is None or view.passes > 1:
        return True
    elements, steps = trial.data.get("elements"), view.steps_per_epoch
    if elements is None or steps is None or not any(s.op == "repeat" for s in view.stages):
        return False
    return bool(steps * trial.data["per_batch"] > SECOND_PASS * elements)


def _is_overhead(view: View, cache: Trial) -> bool:
    """Whether the overhead per element is what a cache would save."""
    batched = view.trial("trial_batch_first")
    if batched is None or not agrees(batched):
        return False
    by_cache = cache.as_written.value - cache.ns.value
    by_batching = batched.as_written.value - batched.ns.value
    return by_batching >= OVERHEAD_PART * by_cache


def _is_opening_files(view: View) -> bool:
    """Whether opening a file for each record is what takes the time (IN011), not the work on it."""
    read = view.result("record_files")
    source = next((s for s in view.stages if s.op.startswith("TFRecordDataset")), None)
    if not read or source is None or source.per_batch is None or view.loader is None:
        return False
    opening = (read["record_ns"] - read["packed_record_ns"]) * source.per_batch
    return bool(opening >= OVERHEAD_PART * view.loader.ns.value)


def cached_bytes(view: View, trial: Trial) -> int | None:
    """Bytes of the whole cached output; None where an element's size or count is unknown."""
    each, count = trial.data.get("element_bytes"), trial.data.get("elements")
    if count is None and view.steps_per_epoch is not None:
        count = view.steps_per_epoch * trial.data["per_batch"]
    return None if each is None or count is None else round(each * count)


def _advice(op: str, keeps_order: bool) -> str:
    text = f"add .cache() right after this {op} (before any random stage)"
    if not keeps_order:
        text += "; it keeps the order of the first pass, so shuffle behind it"
    return text


RULE = RecomputedPreprocessing()
