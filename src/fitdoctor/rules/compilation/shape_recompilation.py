"""# shape-recompilation (CO002)

## What it finds
The step is compiled again for every new shape of its batches.

## Why it is slow
XLA compiles for exact shapes. On JAX, 60 different sequence lengths are 60 compilations of 0.3 s
or more each, and a last smaller batch is one more. In `fit`, TensorFlow's graphs accept any length
after two traces. Your own `tf.function` is traced for every new shape, unless you pass
`reduce_retracing=True` or `input_signature`.

## Evidence
- the same function was compiled for more than ${FEW_SHAPES} different batch shapes;
- the steps that compiled took so much longer that the training would gain
  ${LISTED_FROM_GAIN:gain} or more without the compilations.

## Predicted gain
If compilations are ${MOSTLY_COMPILING:percent} of the time or more: the step on a frozen batch,
which compiles nothing. The ${BUCKETS} shapes that remain compile once; the lower end of the
interval counts that for a run of this length. Otherwise, or if the same shapes compile again and
again: the time without those compilations, except for ${BUCKETS} shapes.

## Example
```python
for tokens, labels in batches_of_any_length:
    model.train_on_batch(tokens, labels)
```

## Use instead
```python
tokens = pad_to(tokens, 64 if tokens.shape[1] <= 64 else 128)      # with a mask
```
or `jax.config.update("jax_compilation_cache_dir", "cache")` to pay once for all runs.

## Fix safety
Padding with a mask keeps the result except for rounding: unsafe. The compilation cache keeps the
result exactly.

## When not to
A single extra shape (the last, smaller batch) is compiled once.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from fitdoctor.analysis.group_costs import PIPELINE
from fitdoctor.analysis.rows import compile_events, rows_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.records import Event
from fitdoctor.findings import ranking
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import saved_leaving
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.batch_shapes import FEW_SHAPES, different_shapes, shapes_of
from fitdoctor.units import duration

LEFT_ERROR = 0.25
# Compilations that remain when lengths are padded to a few shapes.
BUCKETS = 2
MOSTLY_COMPILING = 0.5
# Compilations per shape, from which on they are not paid just once.
RECURS = 1.5


class ShapeRecompilation(Rule):
    summary = "the step is compiled again for every new batch shape"
    safety = "unsafe"
    numbers_from = (ranking,)

    def detect(self, view: View) -> Finding | None:
        """Compilations of one function for many shapes, and what they cost."""
        events = _most_shapes(_with_shapes(view))
        count = len(different_shapes(events))
        if count <= FEW_SHAPES:
            return None
        lost = _lost(view, events)
        if lost <= 0:
            return None
        total = view.costs.total
        part = "compile" if "compile" in view.costs.parts else "step"
        return self.finding(
            view,
            f"{count} batch shapes, each compiled separately: {duration(lost)} of every "
            f"{duration(total.value)} ({shapes_of(events[0])}, {shapes_of(events[-1])}, …)",
            Cure(self.safety, _advice(view)),
            saves={part: saved_leaving(total, _left(view, lost, count))},
            evidence={
                "shapes": count,
                "compile_ns_per_step": round(lost),
                "compilations": len(events),
            },
        )


def _advice(view: View) -> str:
    if view.backend == "tensorflow":
        return (
            "tf.function(..., reduce_retracing=True), or an input_signature with None for the "
            "length; or pad to a few lengths, with a mask"
        )
    return (
        "pad or bucket to a few lengths, with a mask (or set jax_compilation_cache_dir to pay once "
        "for all runs)"
    )


def _with_shapes(view: View) -> list[Event]:
    events = compile_events(view.recorded)
    return [
        event
        for event in events
        if event.detail.shapes and not (event.detail.name or "").startswith(PIPELINE)
    ]


def _most_shapes(events: Sequence[Event]) -> list[Event]:
    """Compilations of the function that was compiled for the most shapes."""
    by_function: dict[object, list[Event]] = defaultdict(list)
    for event in events:
        # A trace gives its function a new number each time; its place stays.
        detail = event.detail
        name = detail.name if event.name == "compile" else (detail.file, detail.line)
        by_function[(name, detail.model)].append(event)
    return max(by_function.values(), key=lambda found: len(different_shapes(found)), default=[])


def _left(view: View, lost: float, shapes: int) -> Interval:
    """A step when only a few shapes are left to compile for.

    On a frozen batch nothing is compiled. What a compiling step takes longer is more than
    the compiler's own time: the step is traced and lowered as well. The few compilations
    that stay are paid once, like the first one of any training; a short run feels them.
    """
    total = view.costs.total.value
    # Shapes that are compiled again and again, as for a new model in every round.
    recurs = len(_with_shapes(view)) > RECURS * shapes
    if view.frozen is None or recurs or lost < MOSTLY_COMPILING * total:
        left = max(1.0, total - lost * max(0.0, 1 - BUCKETS / shapes))
        return Interval.around(left, LEFT_ERROR)
    plain = view.frozen.value + view.costs.parts.get("input_wait", 0.0)
    per_shape = max(0.0, total - plain) * view.costs.steps / shapes
    in_this_run = plain + per_shape * BUCKETS / max(view.planned_steps, BUCKETS)
    return Interval(plain, plain * (1 - LEFT_ERROR), max(plain * (1 + LEFT_ERROR), in_this_run))


def _lost(view: View, events: Sequence[Event]) -> float:
    """Nanoseconds per step that compiling takes: by difference where other steps did not."""
    compiled = view.costs.parts.get("compile", 0.0)
    if compiled:
        return compiled
    own = sum(event.dur for event in events) / max(1, view.costs.steps)
    if view.recorded.blocks:
        plain = [row.step for row in rows_of(view.recorded) if not row.compiled]
        return own if plain else 0.0
    calls = view.recorded.calls
    plain_calls = [c.dur for c in calls if not any(c.t <= e.t <= c.t + c.dur for e in events)]
    if not plain_calls:
        return own
    usual = statistics.median(plain_calls)
    return sum(max(0.0, c.dur - usual) for c in calls) / max(1, len(calls))


RULE = ShapeRecompilation()
