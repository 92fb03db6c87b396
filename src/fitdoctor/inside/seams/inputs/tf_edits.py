"""Cures of a tf.data pipeline as edits: the same pipeline with stages changed or moved.

Each returns the new pipeline, or raises NotApplicable with the reason.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from fitdoctor.inside.seams.inputs import chunked_rows
from fitdoctor.inside.seams.inputs.tf_pipeline import (
    made_of,
    moved,
    substituted,
    with_arguments,
)
from fitdoctor.inside.seams.inputs.tf_stages import Stage
from fitdoctor.inside.seams.not_available import NotAvailable

# Floats of one row and of many rows are rounded apart by no more than this.
ROUNDING = 1e-4
PARALLEL = frozenset({"map", "interleave"})
BATCHING = frozenset({"batch", "padded_batch", "ragged_batch"})
# Stages that hand on the same elements, so that others may be moved past them.
_MOVABLE = frozenset(
    {"AssertCardinalityDataset", "cache", "map", "prefetch", "repeat", "shuffle", "skip", "take"}
)


class NotApplicable(NotAvailable):
    """The edit does not fit this pipeline; the message says why."""


def chain_above(stages: Sequence[Stage], number: int) -> list[Stage]:
    """The stages that a stage reads, nearest first, as long as each has one input."""
    found = []
    inputs = stages[number].inputs
    while len(inputs) == 1:
        stage = stages[inputs[0]]
        found.append(stage)
        inputs = stage.inputs
    return found


def with_reads(root: Any, stages: Sequence[Stage], reads: int) -> Any:
    """Every map and interleave with this many calls in flight, and a pool that has them."""
    several = {"map": {}, "interleave": {"cycle_length": reads}}
    changed = {
        id(s.dataset): {"num_parallel_calls": reads, **several[s.op]}
        for s in stages
        if s.op in PARALLEL
    }
    if not changed:
        raise NotApplicable("there is no map or interleave to run several calls of")
    return with_pool(with_arguments(root, changed), reads)


def with_pool(root: Any, threads: int) -> Any:
    """The pipeline on a thread pool of its own."""
    options = sys.modules["tensorflow"].data.Options()
    options.threading.private_threadpool_size = threads
    return root.with_options(options)


def with_autotune(root: Any, stages: Sequence[Stage]) -> Any:
    """Every serial map with num_parallel_calls=AUTOTUNE, in the same order of elements."""
    tune = sys.modules["tensorflow"].data.AUTOTUNE
    serial = [s.dataset for s in stages if s.op in PARALLEL and s.parallel is None]
    if not serial:
        raise NotApplicable("every map has parallel calls already")
    return with_arguments(root, {id(one): {"num_parallel_calls": tune} for one in serial})


def cached_at(root: Any, stage: Stage, elements: int | None = None) -> Any:
    """A cache after the stage; of its first elements only, read over and over, if a number
    is given (enough to time what is left, without a whole pass to fill it).
    """
    prefix = stage.dataset
    if elements is not None:
        prefix = prefix.take(elements)
    cached = prefix.cache()
    return substituted(root, stage.dataset, cached if elements is None else cached.repeat())


def maps_after_batch(root: Any, stages: Sequence[Stage]) -> tuple[Any, Stage, list[Stage]]:
    """The first batching moved before the maps above it; also that stage and those maps."""
    batch = _element_batch(stages)
    between = _movable(chain_above(stages, batch.number))
    maps = [s for s in between if s.op == "map" and not s.random]
    if not maps or any(s.random for s in between):
        raise NotApplicable("there is no deterministic map before the batch")
    if batch.op != "batch":
        raise NotApplicable(f"{batch.op} needs single elements")
    dataset = stages[between[-1].inputs[0]].dataset
    others = [s for s in between if s.op != "map"]
    dataset = _moved_all([*maps, batch, *others], dataset)
    return substituted(root, batch.dataset, dataset), batch, maps


def in_chunks(root: Any, stage: Stage) -> Any:
    """The generator's rows handed over in chunks, as `fitdoctor.from_generator` does."""
    made = made_of(stage.dataset)
    signature = made.arguments.get("output_signature") if made is not None else None
    if made is None or signature is None:
        raise NotApplicable("from_generator was not given an output_signature")
    tf = sys.modules["tensorflow"]
    rows = chunked_rows.rows_in_one(tf, signature)
    if rows < 2:
        raise NotApplicable("the elements are of varying shape, or large")
    generator, args = made.arguments["generator"], made.arguments.get("args")
    chunks = chunked_rows.in_chunks(tf, generator, signature, rows=rows, args=args)
    return substituted(root, stage.dataset, chunks)


class Agreement(NamedTuple):
    """How two ways to make one batch agree: bit for bit, or except for rounding."""

    same: bool
    close: bool


def batched_either_way(batch: Stage, maps: Sequence[Stage], source: Any) -> Agreement:
    """Whether batch-then-map makes the very batch that map-then-batch makes.

    Both are made of the same elements: a shuffle among them would give others the second time.
    """
    rows = source.take(2 * batch.settings["batch_size"]).cache()
    for _ in rows:
        pass  # a cache holds its elements only after a whole pass
    orders = ([batch, *maps], [*maps, batch])
    one, other = (next(iter(_moved_all(order, rows))) for order in orders)
    same = is_same(one, other)
    return Agreement(same, same or is_close(one, other))


def is_close(one: Any, other: Any) -> bool:
    """Equality except for the rounding of floats, which differs between one row and many."""
    numpy, nest = sys.modules["numpy"], sys.modules["tensorflow"].nest
    first, second = nest.flatten(one), nest.flatten(other)

    def is_near(a: Any, b: Any) -> bool:
        if _is_same_tensor(a, b):
            return True
        if not hasattr(a, "numpy") or a.dtype != getattr(b, "dtype", None) or a.shape != b.shape:
            return False
        options = {"rtol": ROUNDING, "atol": ROUNDING, "equal_nan": True}
        return a.dtype.is_floating and bool(numpy.allclose(a.numpy(), b.numpy(), **options))

    return len(first) == len(second) and all(map(is_near, first, second))


def is_same(one: Any, other: Any) -> bool:
    """Bitwise equality of two elements, with their types and shapes."""
    nest = sys.modules["tensorflow"].nest
    first, second = nest.flatten(one), nest.flatten(other)
    return len(first) == len(second) and all(map(_is_same_tensor, first, second))


def _is_same_tensor(one: Any, other: Any) -> bool:
    if not hasattr(one, "numpy") or not hasattr(other, "numpy") or one.dtype != other.dtype:
        return False
    a, b = one.numpy(), other.numpy()
    if getattr(a, "shape", None) != getattr(b, "shape", None):
        return False
    if not hasattr(a, "tobytes"):
        return bool(a == b)
    if a.dtype.hasobject:  # strings: the bytes of such an array are addresses
        return bool(a.tolist() == b.tolist())
    return bool(a.tobytes() == b.tobytes())


def shuffled_early(root: Any, stages: Sequence[Stage]) -> tuple[Any, Stage]:
    """The shuffle moved before the maps above it; also that shuffle."""
    return _moved_early(root, stages, "shuffle")


def skipped_early(root: Any, stages: Sequence[Stage]) -> tuple[Any, Stage]:
    """The skip moved before the maps above it; also that skip."""
    return _moved_early(root, stages, "skip")


def _moved_early(root: Any, stages: Sequence[Stage], op: str) -> tuple[Any, Stage]:
    late = next((s for s in stages if s.op == op and maps_above(stages, s)), None)
    if late is None:
        raise NotApplicable(f"no {op} comes after a map")
    maps = maps_above(stages, late)
    dataset = _moved_all([*maps, late], stages[maps[-1].inputs[0]].dataset)
    return substituted(root, late.dataset, dataset), late


def maps_above(stages: Sequence[Stage], stage: Stage) -> list[Stage]:
    """The maps right above a stage, with nothing but hand-ons between."""
    above = chain_above(stages, stage.number)
    near = itertools.takewhile(lambda one: one.op in ("map", "prefetch"), above)
    return [one for one in near if one.op == "map"]


def _moved_all(stages: Sequence[Stage], dataset: Any) -> Any:
    """The same stages on another input; the last of them reads it."""
    for stage in reversed(stages):
        dataset = moved(stage.dataset, dataset)
    return dataset


def _movable(chain: Sequence[Stage]) -> list[Stage]:
    found = list(itertools.takewhile(lambda stage: stage.op in _MOVABLE, chain))
    # What lies above the last map stays where it is.
    while found and found[-1].op != "map":
        found.pop()
    if not found:
        raise NotApplicable("there is no map before the batch")
    return found


def _element_batch(stages: Sequence[Stage]) -> Stage:
    """The batching nearest to the source, which collects single elements."""
    batches = [s for s in stages if s.op in BATCHING]
    if not batches:
        raise NotApplicable("the pipeline makes no batches")
    return batches[-1]
