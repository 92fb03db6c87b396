"""A tf.data pipeline in, a faster one with the same elements in the same order out.

The planner that `fitdoctor run` uses proposes joint plans (order, cache, calls, threads) from what
the stages take, and each is tried. The fastest that gave the same elements is kept, if it is
measured to be faster. Whatever is in doubt is declined.
"""

from __future__ import annotations

import statistics
import threading
import time
from dataclasses import dataclass
from typing import Any

from fitdoctor.contract.evidence.plans import TriedPlan
from fitdoctor.contract.limits import MEMORY_SHARE
from fitdoctor.inside.lab.apparatus.ablation import Ablation
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, bytes_of
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench
from fitdoctor.inside.lab.apparatus.plan_trials import PlanTrials
from fitdoctor.inside.seams.inputs import tf_adopt, tf_edits, tf_plan
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk
from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.planning.bounds import Step

_STAGES_S, _STAGE_S = 6.0, 0.2  # of timing stages: all of them, and each
_SAME_S = 2.0  # of comparing elements
_PASS_S = 4.0  # of reading a whole pass, where its length is not known
_WORTH = 1.1
_MEMORY_SHARE = 0.25  # of what is free now, for a cache


@dataclass(frozen=True)
class Outcome:
    """The dataset to use, and what was done or declined."""

    dataset: Any
    applied: tuple[str, ...]
    declined: tuple[str, ...]


def faster(dataset: Any, *, free_bytes: int, unsafe: bool = False) -> Outcome:
    """The same elements in the same order, sooner; or the dataset itself.

    Args:
        dataset: what to read.
        free_bytes: memory that is free now.
        unsafe: random numbers may fall on other elements, floats may be rounded otherwise, and
            the order may be another one.
    """
    tf_adopt.adopt(dataset)
    reason = None if unsafe else _why_not(walk(dataset))
    if reason is not None:
        return Outcome(dataset, (), (reason,))
    iterators = Iterators()
    try:
        return _planned(dataset, iterators, free_bytes * _MEMORY_SHARE / MEMORY_SHARE, unsafe)
    except (NotAvailable, LookupError) as error:
        return Outcome(dataset, (), (str(error),))
    except Exception as error:  # noqa: BLE001 - a user's pipeline may fail, also as it is
        return Outcome(dataset, (), (type(error).__name__,))
    finally:
        # TensorFlow may wait for seconds for an iterator that is let go; the caller need not.
        threading.Thread(target=iterators.close, daemon=True).start()


def _planned(dataset: Any, iterators: Iterators, free_bytes: float, unsafe: bool) -> Outcome:
    bench = PipelineBench(dataset, iterators, Ablation(dataset, iterators, _STAGES_S, _STAGE_S))
    bench.ablation.run()
    trials = PlanTrials(bench, Step(), free_bytes)
    found = trials.run()
    declined = list(found.declined)
    for row in sorted(found.rows, key=_ratio):
        words = ", ".join(words_of(row, bench.stages))
        try:
            changed = tf_plan.carried_out(trials.chain, row.plan)
            _check(bench, row, changed, free_bytes, unsafe=unsafe)
        except (NotAvailable, LookupError) as error:
            declined.append(f"{words}: {error}")
        except Exception as error:  # noqa: BLE001 - a user's function may fail on what is tried
            declined.append(f"{words}: {type(error).__name__}")
        else:
            return Outcome(changed, tuple(words_of(row, bench.stages)), tuple(declined))
    return Outcome(dataset, (), tuple(declined))


def _ratio(row: TriedPlan) -> float:
    """Time after over before; the first batch of a pass is not in it."""
    return statistics.median(row.ns) / statistics.median(row.as_written)


def words_of(row: TriedPlan, stages: list[Stage]) -> list[str]:
    """What a plan does."""
    plan = row.plan
    words = []
    if plan.order != tuple(sorted(plan.order)):
        words.append("order " + ", ".join(stages[number].op for number in reversed(plan.order)))
    if plan.cache_after is not None:
        words.append("cache")
    words += [f"{count} calls of {stages[number].op}" for number, count in plan.calls]
    return [*words, "private thread pool"] if plan.pool else words


def _check(
    bench: PipelineBench, row: TriedPlan, changed: Any, free_bytes: float, *, unsafe: bool
) -> None:
    """Raises NotAvailable for what is not faster, or may give something else."""
    plan = row.plan
    if _ratio(row) * _WORTH > 1.0:
        raise NotAvailable("it is not faster here")
    if plan.cache_after is not None and row.cache_bytes is None:
        kept = _pass_bytes(bench.stages[plan.cache_after].dataset, bench.iterators)
        if kept > MEMORY_SHARE * free_bytes:
            raise NotAvailable("the data may not fit into memory")
    if unsafe:
        return
    if row.redraws or not (row.same and row.keeps_order):
        raise NotAvailable("the elements would not be the same")
    _check_seeds(bench.stages, changed)
    # A few rows that are the same prove little: the whole data, or nothing.
    is_moved = plan.order != tuple(sorted(plan.order))
    if not _same_elements(bench.dataset, changed, to_the_end=is_moved):
        raise NotAvailable("not proven equal on all of the data")


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


def _pass_bytes(dataset: Any, iterators: Iterators) -> float:
    """What one whole pass gives.

    Raises:
        NotAvailable: it takes too long to be read for that, or may have no end.
    """
    begin, found = time.perf_counter(), 0.0
    for element in iterators.open(dataset):
        size = bytes_of(element)
        if size is None or time.perf_counter() - begin > _PASS_S:
            raise NotAvailable("the number of elements is not known")
        found += size
    return found


def _check_seeds(stages: list[Stage], changed: Any) -> None:
    """A shuffle that was made again must draw what it would have drawn."""
    before, after = (
        [tf_adopt.seeds_of(stage.dataset) for stage in walked if stage.op == "shuffle"]
        for walked in (stages, walk(changed))
    )
    if before != after:
        raise NotAvailable("the shuffle's seed comes from a counter and would change")


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
