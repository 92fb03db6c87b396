"""# recomputed-preprocessing (IN004)

## What it finds
The same deterministic work (decoding, parsing, resizing, tokenising) is done again in every
epoch, and training waits for it.

## Why it is slow
A tf.data pipeline runs from its sources in every pass. What does not change from pass to pass
needs to be computed only once, if memory or disk can hold the result.

## Evidence
- a real step takes longer than a step on one batch held in memory, and loading explains it;
- the stages up to one point contain no random op and no shuffle, and where they run Python, two
  passes gave the same elements bit for bit;
- native work takes a notable part of loading (waiting alone is IN002, Python alone IN001);
- the pipeline with a cache at that point was timed, and is faster;
- the cached output fits in half of the free memory; or it does not, and reading it from disk was
  timed and is faster than making it again.

## Predicted gain
The pipeline with the cache, timed on this machine, beside the step; from the second epoch on. The
first epoch fills the cache and takes as long as now. For a pack: some of it was written and read
from memory, and once from the disk; both at once at best, one after the other at worst.

## Example
```python
files.map(decode_and_resize).shuffle(1000).batch(32)
```

## Use instead
```python
files.map(decode_and_resize).cache().shuffle(1000).batch(32)
```
Where memory is short, `fitdoctor fix --pack DEST` writes instead
```python
files.map(decode_and_resize).apply(fitdoctor.packed("DEST")).shuffle(1000).batch(32)
```
whose first run stores the output as TFRecord shards, which every later run reads.

## Fix safety
Same samples, same order, same numbers. A source that shuffles by itself (`list_files`) keeps one
order afterwards: then put a `shuffle` behind the cache. Never cache after random augmentation:
every epoch would see the same.

## When not to
- Training runs for one epoch only.
- Neither memory nor disk has room for the output.
- The work is tiny and its cost is the overhead per element: IN005.
"""

from __future__ import annotations

from fitdoctor.analysis.pipeline import StageCost, Trial
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.inside.lab.apparatus.memory import MEMORY_SHARE
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import input_is_slow, saved_by, saved_by_trial
from fitdoctor.rules.input.per_element_pipeline import agrees
from fitdoctor.rules.support.places import cached_after, packed_after
from fitdoctor.units import duration, size

PAGE = __doc__ or ""

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
        if stage is None or not is_read_again(view, trial) or _is_overhead(view, trial):
            return None
        if _is_opening_files(view):
            return None
        kept, free = cached_bytes(view, trial), trial.data.get("available_bytes")
        if kept is not None and free is not None and kept > MEMORY_SHARE * free:
            return self._packed(view, stage, kept, int(free))
        saved = saved_by_trial(view, trial)
        keeps_order = bool(trial.data.get("keeps_order", True))
        is_safe = keeps_order and not trial.data.get("python")
        return Finding(
            rule=self.code,
            name=self.name,
            where=_where(view, trial, stage),
            message=(
                f"loading one batch takes {duration(view.loader.ns.value)} in every epoch, "
                f"{duration(trial.ns.value)} with the output of {stage.op} kept; "
                f"keeping it takes {'an unknown amount' if kept is None else size(kept)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                "safe" if is_safe else "unsafe",
                _advice(stage, keeps_order),
                cached_after(view, stage),
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

    def _packed(self, view: View, stage: StageCost, kept: int, free: int) -> Finding | None:
        """What does not fit in memory may be read from disk faster than it is made again."""
        trial, loader = view.trial("trial_packed"), view.loader
        if trial is None or loader is None or not trial.data.get("elements"):
            return None
        stored = round(trial.data["elements"] * trial.data["element_bytes"])
        seconds = trial.data["elements"] * trial.data["write_ns"] / 1e9
        after = _from_disk(loader.ns, trial)
        saved = saved_by(
            view,
            after,
            overlapped=False,
            cores=trial.cores,
            first_saved_ns=trial.first_saved_ns,
        )
        return Finding(
            rule=self.code,
            name=self.name,
            where=_where(view, trial, stage),
            message=(
                f"loading one batch takes {duration(loader.ns.value)} in every epoch, "
                f"{duration(after.value)} with the output of {stage.op} read from disk; in memory "
                f"it would take {size(kept)} of the {size(free)} that are free"
            ),
            gain=gain(view.costs.total, saved),
            cure=_packing(stage, trial, stored, seconds),
            evidence={
                "loader_ns": round(loader.ns.value),
                "packed_loader_ns": round(after.value),
                "disk_ns": round(trial.data["disk_ns"]),
                "frozen_step_ns": round(view.ceiling_step.value),
                "cache_bytes": kept,
                "available_bytes": free,
                "packed_bytes": stored,
                "packing_s": round(seconds, 1),
                "disk_free_bytes": trial.data["disk_free_bytes"],
                "runs_python": bool(trial.data.get("python")),
            },
            saves={"input_wait": saved},
        )


def _where(view: View, trial: Trial, kept: StageCost) -> Where | None:
    """Where the work is written that is done again; what is kept may be its batches."""
    work = trial.data.get("work")
    stage = kept if work is None else view.stage(int(work)) or kept
    return Where(stage.file, stage.line or 0) if stage.file else None


def _from_disk(loader: Interval, trial: Trial) -> Interval:
    """A batch of a pack that is larger than memory.

    The trial read a file that memory held; the disk runs ahead of that at best, and in turn with
    it at worst.
    """
    left, disk = trial.left, float(trial.data["disk_ns"])
    held = Interval(loader.value * left.value, loader.low * left.low, loader.high * left.high)
    return Interval(max(held.value, disk), held.low, max(held.high, held.value + disk))


def _packing(stage: StageCost, trial: Trial, stored: int, seconds: float) -> Cure:
    cost = f"{size(stored)}, written once in about {duration(seconds * 1e9)}"
    if stored > trial.data["disk_free_bytes"]:
        free = size(trial.data["disk_free_bytes"])
        return Cure(
            "advice", f"pack what this {stage.op} gives to another disk ({cost}; {free} free)"
        )
    is_safe = bool(trial.data.get("keeps_order", True)) and not trial.data.get("python")
    return Cure(
        "safe" if is_safe else "unsafe",
        f"pack what this {stage.op} gives to disk ({cost}) and read it from there",
        packed_after(stage, stored, seconds),
    )


def is_read_again(view: View, trial: Trial) -> bool:
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


def _advice(stage: StageCost, keeps_order: bool) -> str:
    behind = f"{stage.via}(…)" if stage.via else f"this {stage.op}"
    text = f"add .cache() right after {behind} (before any random stage)"
    if not keeps_order:
        text += "; it keeps the order of the first pass, so shuffle behind it"
    return text


RULE = RecomputedPreprocessing()
