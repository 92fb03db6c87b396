"""A plan for a tf.data pipeline, carried out: its stages in another order, cached, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.evidence.plans import InputPlan
from fitdoctor.inside.seams.inputs import tf_edits
from fitdoctor.inside.seams.inputs.tf_edits import NotApplicable
from fitdoctor.inside.seams.inputs.tf_pipeline import made_of
from fitdoctor.inside.seams.inputs.tf_stages import Stage

# Stages whose result depends on the pass, or whose work was done in an earlier one.
_ENDS_CHAIN = frozenset({"cache", "snapshot", "from_generator", "apply"})
# What only puts elements into another order, or repeats them: left out where elements are compared.
_LEFT_OUT = frozenset({"shuffle", "repeat", "prefetch", "with_options"})

# Calls, and classes where nobody saw the call, that give the same in every pass for the same input.
_STEADY = frozenset(
    {
        *("AssertCardinalityDataset", "batch", "concatenate", "enumerate", "filter", "flat_map"),
        *("interleave", "map", "padded_batch", "prefetch", "ragged_batch", "shard", "skip"),
        *("take", "unbatch", "window", "zip"),
        *("from_tensor_slices", "from_tensors", "list_files", "load", "range"),
        *("ConcatenateDataset", "FixedLengthRecordDataset", "RangeDataset", "TFRecordDataset"),
        *("TensorDataset", "TensorSliceDataset", "TextLineDataset", "ZipDataset"),
    }
)

Open = Callable[[Any], Iterator[Any]]


@dataclass(frozen=True)
class Chain:
    """The stages that a plan may move or change, the last one first, and what they read."""

    stages: tuple[Stage, ...]
    base: Any

    @property
    def order(self) -> tuple[int, ...]:
        """As written."""
        return tuple(stage.number for stage in self.stages)

    def stage(self, number: int) -> Stage:
        """By its number as written."""
        return next(one for one in self.stages if one.number == number)


def chain_of(stages: Sequence[Stage]) -> Chain:
    """The last stages of a pipeline, as far up as each has one input and can be made again.

    Raises:
        NotApplicable: not even the last one can.
    """
    found = []
    for stage in [stages[0], *tf_edits.chain_above(stages, 0)]:
        if made_of(stage.dataset) is None or len(stage.inputs) != 1 or stage.op in _ENDS_CHAIN:
            break
        found.append(stage)
    if not found:
        raise NotApplicable("how this pipeline was made was not seen")
    return Chain(tuple(found), stages[found[-1].inputs[0]].dataset)


def carried_out(chain: Chain, plan: InputPlan, *, cached: int | None = None) -> Any:
    """The pipeline as the plan wants it.

    Args:
        chain: of the pipeline as written.
        plan: for this chain.
        cached: keep only so many elements, and read them over and over: enough for a trial.
    """
    calls = plan.calls_of
    dataset = chain.base
    for number in reversed(plan.order):
        dataset = _stage_on(chain.stage(number), dataset, calls.get(number))
        if number == plan.cache_after:
            dataset = dataset.cache() if cached is None else dataset.take(cached).cache().repeat()
    if plan.pool:
        dataset = tf_edits.with_pool(dataset, plan.pool)
    return dataset


def _stage_on(stage: Stage, dataset: Any, calls: int | None) -> Any:
    made = made_of(stage.dataset)
    if made is None:
        raise NotApplicable(f"how {stage.op} was made was not seen")
    changed = {} if calls is None else {"num_parallel_calls": calls}
    return made.call((dataset, *made.inputs[1:]), {**made.arguments, **changed})


def is_steady(stage: Stage) -> bool:
    """Whether a stage gives the same in every pass, if what it reads does."""
    return stage.op in _STEADY and not stage.random


def up_to(chain: Chain, order: Sequence[int], number: int) -> Any:
    """What a stage gives in this order, without the stages that only reorder or repeat."""
    dataset = chain.base
    for one in reversed(order):
        stage = chain.stage(one)
        if stage.op not in _LEFT_OUT:
            dataset = _stage_on(stage, dataset, None)
        if one == number:
            break
    return dataset


def applied(chain: Chain, numbers: Sequence[int], rows: Any) -> Any:
    """Some stages, the last one first, on other elements, without those that reorder."""
    for number in reversed(numbers):
        stage = chain.stage(number)
        if stage.op not in _LEFT_OUT:
            rows = _stage_on(stage, rows, None)
    return rows


def agreement(
    one: Any, other: Any, open_: Open, *, must_drop: int | None = None
) -> tf_edits.Agreement:
    """Whether two pipelines give the same elements, bit for bit or except for rounding.

    Args:
        one: a finite dataset.
        other: likewise.
        open_: makes an iterator that lives on until all is measured.
        must_drop: of so many elements, fewer must be left for the comparison to mean anything.
    """
    if one.element_spec != other.element_spec:
        return tf_edits.Agreement(same=False, close=False)
    first, second = list(open_(one)), list(open_(other))
    shows = bool(first) and (must_drop is None or len(first) < must_drop)
    if len(first) != len(second) or not shows:
        return tf_edits.Agreement(same=False, close=False)
    same = all(map(tf_edits.is_same, first, second))
    return tf_edits.Agreement(same, same or all(map(tf_edits.is_close, first, second)))


def held_rows(dataset: Any, count: int, open_: Open) -> Any:
    """The first elements of a dataset, made once."""
    rows = dataset.take(count).cache()
    for _ in open_(rows):
        pass  # a cache holds its elements only after a whole pass
    return rows


def keeps_order(stage: Stage) -> bool:
    """Whether a stage gives its elements in the same order with more calls at a time."""
    if stage.op != "interleave":
        return True
    made = made_of(stage.dataset)
    # Without a cycle_length, it follows the number of calls.
    return made is not None and made.arguments.get("cycle_length") not in (None, -1)
