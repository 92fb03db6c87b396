"""A tf.data pipeline in, a faster one with the same elements in the same order out.

What is tried: a cache after the last stage that gives the same in every pass; batching before
maps that give the same batch either way; a thread pool of its own for parallel maps. Each is kept
only if it was measured to be faster and gave the same elements. Whatever is in doubt is declined.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.seams.inputs import tf_adopt, tf_edits
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk
from fitdoctor.inside.seams.not_available import NotAvailable

# Ops that give the same elements for the same input, in order, in every pass.
_STEADY = frozenset(
    {"batch", "cache", "map", "prefetch", "range", "skip", "take", "from_tensor_slices", "zip"}
)
# Classes of sources, as they are called when nobody noted their making.
_STEADY_SOURCES = frozenset(
    {"RangeDataset", "TensorSliceDataset", "TensorDataset", "ZipDataset", "CacheDataset",
     "TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset"}
)  # fmt: skip
# Ops that can be made again on another input with nothing lost.
_REBUILT = frozenset({"batch", "map", "prefetch", "repeat", "shuffle", "skip", "take"})
_TRIAL_S = 1.0  # of reading, for each candidate
_SAME_S = 2.0  # of comparing elements
_WORTH = 1.1
_MEMORY_SHARE = 0.25  # of what is free now, for a cache
_CACHED_TRIAL = 64  # elements
_POOL = 16  # threads, for reads that wait


@dataclass(frozen=True)
class Outcome:
    """The dataset to use, and what was done or declined."""

    dataset: Any
    applied: tuple[str, ...]
    declined: tuple[str, ...]


def faster(dataset: Any, *, free_bytes: int) -> Outcome:
    """The same elements in the same order, sooner; or the dataset itself."""
    tf_adopt.adopt(dataset)
    reason = _why_not(walk(dataset))
    if reason is not None:
        return Outcome(dataset, (), (reason,))
    applied: list[str] = []
    declined: list[str] = []
    current, before = dataset, _time(dataset)
    # Each gives the new pipeline, and one to time it by.
    edits: dict[str, Callable[[Any], tuple[Any, Any]]] = {
        "batch before map": _batch_first,
        "cache": lambda dataset: _cached(dataset, free_bytes),
        "private thread pool": _pooled,
    }
    for name, edit in edits.items():
        try:
            changed, trial = edit(current)
            if not _same_elements(dataset, changed):
                raise NotAvailable("the elements would not be the same")
            after = _time(trial)
            if before is None or after is None or before / after < _WORTH:
                raise NotAvailable("it is not faster here")
            current, before = changed, after
            applied.append(name)
        except (NotAvailable, LookupError) as error:
            declined.append(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001 - a user's map may fail on what we try
            declined.append(f"{name}: {type(error).__name__}")
    return Outcome(current, tuple(applied), tuple(declined))


def _why_not(stages: list[Stage]) -> str | None:
    """A reason to leave the pipeline alone altogether."""
    for stage in stages:
        if stage.python:
            return f"{stage.op} runs Python code, which may do anything"
        if stage.random:
            return f"{stage.op} draws random numbers, which would change"
        if _may_reorder(stage):
            return f"{stage.op} may give its elements in any order"
        if tf_adopt.seeds_of(stage.dataset) not in (None, (0, 0)):
            # Every pass takes the next seed of a state; reading the dataset here would use it up.
            return f"{stage.op} is seeded, and trying it out would move its order on"
    return None


def _may_reorder(stage: Stage) -> bool:
    if getattr(stage.dataset, "_deterministic", "default") == "false":
        return True
    return stage.dataset.options().deterministic is False


# -- the three edits -------------------------------------------------------------------


def _batch_first(dataset: Any) -> tuple[Any, Any]:
    stages = walk(dataset)
    changed, batch, maps = tf_edits.maps_after_batch(dataset, stages)
    _check_rebuilt(stages, maps[-1].number)
    above = tf_edits.chain_above(stages, batch.number)
    if any(stage.op not in ("map", "prefetch") for stage in above[: above.index(maps[-1])]):
        raise NotAvailable("other stages lie between the map and the batch")
    # One batch that is the same proves little: the whole data, or nothing.
    if not _same_elements(dataset, changed, to_the_end=True):
        raise NotAvailable("not proven equal on all of the data")
    return changed, changed


def _cached(dataset: Any, free_bytes: int) -> tuple[Any, Any]:
    stages = walk(dataset)
    if any(stage.op in ("cache", "CacheDataset") for stage in stages):
        raise NotAvailable("there is a cache already")
    stage = _last_steady(stages)
    _check_rebuilt(stages, stage.number)
    size, count = _size(stage.dataset)
    if size * count > _MEMORY_SHARE * free_bytes:
        raise NotAvailable("the data may not fit into memory")
    changed = tf_edits.cached_at(dataset, stage)
    _check_seeds(stages, changed)
    return changed, tf_edits.cached_at(dataset, stage, _CACHED_TRIAL)


def _pooled(dataset: Any) -> tuple[Any, Any]:
    if not any(stage.parallel is not None for stage in walk(dataset)):
        raise NotAvailable("no stage has parallel calls")
    if dataset.options().threading.private_threadpool_size is not None:
        raise NotAvailable("there is a private pool already")
    changed = tf_edits.with_pool(dataset, max(_POOL, 2 * (os.cpu_count() or 1)))
    return changed, changed


def _last_steady(stages: list[Stage]) -> Stage:
    """The stage nearest to the end up to which every pass gives the same."""
    for stage in stages:
        above = [stage, *_all_above(stages, stage)]
        if stage.op in ("map", "batch") and all(map(_is_steady, above)):
            return stage
    raise NotAvailable("no stage gives the same in every pass")


def _is_steady(stage: Stage) -> bool:
    known = stage.op in _STEADY or stage.op in _STEADY_SOURCES
    return known and not (stage.random or stage.reorders or stage.python)


def _all_above(stages: list[Stage], stage: Stage) -> list[Stage]:
    read = [stages[number] for number in stage.inputs]
    return read + [above for one in read for above in _all_above(stages, one)]


def _check_rebuilt(stages: list[Stage], number: int) -> None:
    """Everything that reads the changed stage is made again: only what loses nothing by it."""
    for stage in stages:
        reads = any(one.number == number for one in _all_above(stages, stage))
        if reads and stage.op not in _REBUILT:
            raise NotAvailable(f"{stage.op} cannot be made again")


def _check_seeds(stages: list[Stage], changed: Any) -> None:
    """A shuffle that was made again must draw what it would have drawn."""
    before, after = (
        [tf_adopt.seeds_of(stage.dataset) for stage in walked if stage.op == "shuffle"]
        for walked in (stages, walk(changed))
    )
    if before != after:
        raise NotAvailable("the shuffle's seed comes from a counter and would change")


# -- measuring and comparing -----------------------------------------------------------


def _time(dataset: Any) -> float | None:
    """Seconds per element after the first ones; None where there are too few."""
    iterator = iter(dataset.repeat())
    begin = time.perf_counter()
    count, measured_from = 0, None
    for _ in iterator:
        now = time.perf_counter()
        count += 1
        if measured_from is None and (count >= 2 * _CACHED_TRIAL or now - begin > _TRIAL_S / 4):
            measured_from = (now, count)
        if now - begin > _TRIAL_S:
            break
    if measured_from is None or count <= measured_from[1]:
        return None
    return (time.perf_counter() - measured_from[0]) / (count - measured_from[1])


def _same_elements(one: Any, other: Any, *, to_the_end: bool = False) -> bool:
    """Element by element, for a while or to the end."""
    if one.element_spec != other.element_spec:
        return False
    if any(tf_adopt.seeds_of(stage.dataset) == (0, 0) for stage in walk(one)):
        return True  # has no order of its own; what it shuffles was compared by its seeds
    begin = time.perf_counter()
    first, second = iter(one), iter(other)
    while True:
        a, b = next(first, None), next(second, None)
        if a is None or b is None:
            return a is b
        if not tf_edits.is_same(a, b):
            return False
        if time.perf_counter() - begin > _SAME_S:
            return not to_the_end


def _size(dataset: Any) -> tuple[int, int]:
    """Bytes of an element and their number."""
    count = int(dataset.cardinality())
    if count < 0:
        raise NotAvailable("the number of elements is not known")
    tf = sys.modules["tensorflow"]
    sizes = [
        sum(
            int(tf.size(leaf)) * max(1, leaf.dtype.size or 64)
            for leaf in tf.nest.flatten(element, expand_composites=True)
        )
        for element in dataset.take(4)
    ]
    return max(sizes, default=0), count
