"""# recomputed-preprocessing (IN004)

## What it finds
The same deterministic work (decoding, parsing, resizing, tokenising) is done again in every
epoch, and training waits for it.

## Why it is slow
A tf.data pipeline runs from its sources in every pass. Work whose result never changes is needed
only once, if memory or disk can hold the result.

## Evidence
- a real step takes longer than a step on one batch held in memory (gain of ${WORTH_GAIN:gain} or
  more), and loading explains at least ${EXPLAINED_SHARE:percent} of the difference;
- the stages up to one point contain no random op and no shuffle; if they run Python, two passes
  gave the same elements bit for bit;
- native work takes a notable part of loading (only waiting is IN002, only Python is IN001);
- the pipeline with a cache at that point was timed, and is faster;
- batching first, or fewer files to open, would not save ${OVERHEAD_PART:percent} or more of that;
- the cached output fits in ${MEMORY_SHARE:percent} of the free memory; or it does not, and reading
  it from disk was timed and is faster than making it again.

## Predicted gain
The pipeline with the cache, timed on this machine, overlapped with the step, from the second epoch
on. The first epoch fills the cache and takes as long as now. For a pack: a part of it was written,
and read from memory and once from disk. At best both reads overlap, at worst they add up.

## Example
```python
files.map(decode_and_resize).shuffle(1000).batch(32)
```

## Use instead
```python
files.map(decode_and_resize).cache().shuffle(1000).batch(32)
```
If memory is short, `fitdoctor fix --pack DEST` writes this instead:
```python
files.map(decode_and_resize).apply(fitdoctor.packed("DEST")).shuffle(1000).batch(32)
```
The first run stores the output as TFRecord shards. Every later run reads them.

## Fix safety
Same samples, same order, same numbers. A source that shuffles by itself (`list_files`) keeps one
order afterwards: then put a `shuffle` after the cache. Never cache after random augmentation:
every epoch would see the same.

## When not to
- Training runs for one epoch only.
- Neither memory nor disk has room for the output.
- The work is tiny and its cost is the overhead per element: IN005.
"""

from __future__ import annotations

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost, Trial
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import RecordFiles
from fitdoctor.contract.evidence.pipeline import BatchFirst, Cached, KeptOutput, Packed
from fitdoctor.contract.limits import MEMORY_SHARE, NS_PER_S
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import Where, line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.kept_output import is_read_again, kept_bytes
from fitdoctor.rules.support.places import cached_after, packed_after, record_source
from fitdoctor.units import duration, size

# Batching first removes at least this part of what a cache would: then overhead is the cause.
OVERHEAD_PART = 0.7


class RecomputedPreprocessing(Rule):
    summary = "the same decoding or parsing is done again in every epoch, and training waits"
    safety = "safe"
    numbers_from = (loading,)

    def detect(self, view: View) -> Finding | None:
        """A cache was tried, is faster, fits, and the data is read more than once."""
        trial, loader = view.trial(Cached), view.loader
        if trial is None or loader is None or not loading.input_is_slow(view):
            return None
        found, stage = trial.found, view.stage(trial.found.stage)
        if stage is None or not is_read_again(view, found):
            return None
        if _is_overhead(view, trial) or _is_opening_files(view, loader):
            return None
        kept, free = kept_bytes(view, found), found.available_bytes
        if kept is not None and free is not None and kept > MEMORY_SHARE * free:
            return self._packed(view, loader, stage, kept, free)
        return self.finding(
            view,
            f"loading one batch takes {duration(loader.ns.value)} in every epoch, "
            f"{duration(trial.ns.value)} with the output of {stage.op} kept; "
            f"keeping it takes {'an unknown amount' if kept is None else size(kept)}",
            Cure(_safety(found), _advice(stage, found), cached_after(view, stage)),
            saves={"input_wait": loading.saved_by_trial(view, trial)},
            where=_where(view, found, stage),
            evidence={
                "loader_ns": round(loader.ns.value),
                "cached_loader_ns": round(trial.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "cache_bytes": kept,
                "available_bytes": free,
                "from_epoch": 2,
                "runs_python": found.python,
            },
        )

    def _packed(
        self, view: View, loader: Loader, stage: StageCost, kept: int, free: int
    ) -> Finding | None:
        """What does not fit in memory may be read from disk faster than it is made again."""
        trial = view.trial(Packed)
        if trial is None or not trial.found.elements or trial.found.element_bytes is None:
            return None
        found, elements = trial.found, trial.found.elements
        stored = round(elements * trial.found.element_bytes)
        seconds = elements * found.write_ns / NS_PER_S
        after = _from_disk(loader.ns, trial)
        saved = loading.saved_by(
            view,
            after,
            overlapped=False,
            cores=trial.cores,
            first_saved_ns=trial.first_saved_ns,
        )
        return self.finding(
            view,
            f"loading one batch takes {duration(loader.ns.value)} in every epoch, "
            f"{duration(after.value)} with the output of {stage.op} read from disk; in memory "
            f"it would take {size(kept)} of the {size(free)} that are free",
            _packing(stage, found, stored, seconds),
            saves={"input_wait": saved},
            where=_where(view, found, stage),
            evidence={
                "loader_ns": round(loader.ns.value),
                "packed_loader_ns": round(after.value),
                "disk_ns": round(found.disk_ns),
                "frozen_step_ns": round(view.ceiling_step.value),
                "cache_bytes": kept,
                "available_bytes": free,
                "packed_bytes": stored,
                "packing_s": round(seconds, 1),
                "disk_free_bytes": found.disk_free_bytes,
                "runs_python": found.python,
            },
        )


def _where(view: View, kept: KeptOutput, stage: StageCost) -> Where | None:
    """Where the work is written that is done again; what is kept may be its batches."""
    return line_of(view.stage(kept.work) or stage)


def _safety(kept: KeptOutput) -> Safety:
    """Only some of what Python makes was compared; another source keeps its first order."""
    return "safe" if kept.keeps_order and not kept.python else "unsafe"


def _from_disk(loader: Interval, trial: Trial[Packed]) -> Interval:
    """A batch of a pack that is larger than memory.

    The trial read a file that memory held; the disk runs ahead of that at best, and in turn with
    it at worst.
    """
    held, disk = loader.times(trial.left), trial.found.disk_ns
    return Interval(max(held.value, disk), held.low, max(held.high, held.value + disk))


def _packing(stage: StageCost, packed: Packed, stored: int, seconds: float) -> Cure:
    cost = f"{size(stored)}, written once in about {duration(seconds * NS_PER_S)}"
    if stored > packed.disk_free_bytes:
        free = size(packed.disk_free_bytes)
        return Cure(
            "advice", f"pack what this {stage.op} gives to another disk ({cost}; {free} free)"
        )
    return Cure(
        _safety(packed),
        f"pack what this {stage.op} gives to disk ({cost}) and read it from there",
        packed_after(stage, stored, seconds),
    )


def _is_overhead(view: View, cache: Trial[Cached]) -> bool:
    """Whether the overhead per element is what a cache would save."""
    batched = view.trial(BatchFirst)
    if batched is None or not (batched.found.same or batched.found.close):
        return False
    by_cache = cache.as_written.value - cache.ns.value
    by_batching = batched.as_written.value - batched.ns.value
    return by_batching >= OVERHEAD_PART * by_cache


def _is_opening_files(view: View, loader: Loader) -> bool:
    """Whether opening a file for each record is what takes the time, not the work on it."""
    read, source = view.found(RecordFiles), record_source(view)
    if read is None or source is None or source.per_batch is None:
        return False
    opening = (read.record_ns - read.packed_record_ns) * source.per_batch
    return opening >= OVERHEAD_PART * loader.ns.value


def _advice(stage: StageCost, kept: KeptOutput) -> str:
    after = f"{stage.via}(…)" if stage.via else f"this {stage.op}"
    text = f"add .cache() right after {after} (before any random stage)"
    if not kept.keeps_order:
        text += "; it keeps the order of the first pass, so shuffle after it"
    return text


RULE = RecomputedPreprocessing()
