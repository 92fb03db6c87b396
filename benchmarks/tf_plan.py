"""A plan for a tf.data pipeline, carried out: the same pipeline with the plan's settings."""

from __future__ import annotations

from typing import Any

from fitdoctor.inside.seams.inputs import keras_arrays, tf_edits
from fitdoctor.inside.seams.inputs.tf_edits import NotApplicable
from fitdoctor.inside.seams.inputs.tf_pipeline import with_arguments
from fitdoctor.inside.seams.inputs.tf_stages import Stage, walk

_DETERMINISTIC_ENDS = frozenset({"map", "batch", "padded_batch", "filter"})


def carried_out(dataset: Any, plan: dict[str, Any]) -> Any:
    """The pipeline as the plan wants it.

    Args:
        dataset: the pipeline as written; its stages were noted when it was made.
        plan: `calls`, `pool`, `batch_first`, `shuffle_first`, `cache_after`, `arrays`.
    """
    if plan.get("arrays"):
        return _as_arrays(dataset)
    changed = _with_calls(dataset, dict(plan.get("calls") or ()))
    if plan.get("batch_first"):
        changed, _, _ = tf_edits.maps_after_batch(changed, walk(changed))
    elif plan.get("shuffle_first"):
        changed, _ = tf_edits.shuffled_early(changed, walk(changed))
    if plan.get("cache_after") is not None:
        changed = _cached(changed, plan)
    if plan.get("pool"):
        changed = tf_edits.with_pool(changed, int(plan["pool"]))
    return changed


def _with_calls(dataset: Any, calls: dict[int, int]) -> Any:
    changed = {
        id(s.dataset): {"num_parallel_calls": calls[s.number]}
        for s in walk(dataset)
        if s.number in calls
    }
    return with_arguments(dataset, changed)


def _cached(dataset: Any, plan: dict[str, Any]) -> Any:
    stages = walk(dataset)
    if plan.get("batch_first") or plan.get("shuffle_first"):
        # Moving stages renumbers them: the last one that is the same in every pass.
        return tf_edits.cached_at(dataset, _last_steady(stages))
    return tf_edits.cached_at(dataset, stages[int(plan["cache_after"])])


def _last_steady(stages: list[Stage]) -> Stage:
    for stage in stages:
        above = [stage, *tf_edits.chain_above(stages, stage.number)]
        steady = not any(s.random or s.op in ("shuffle", "repeat") for s in above)
        if steady and stage.op in _DETERMINISTIC_ENDS:
            return stage
    raise NotApplicable("no stage gives the same in every pass")


def _as_arrays(dataset: Any) -> Any:
    stages = walk(dataset)
    batch = next(s for s in stages if s.op == "batch")
    shuffles = any(s.op == "shuffle" for s in stages)
    return keras_arrays.as_arrays(stages[-1].dataset, batch.settings["batch_size"], shuffles)
