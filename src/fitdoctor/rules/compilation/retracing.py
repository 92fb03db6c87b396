"""# retracing (CO001)

## What it finds
The step is traced or compiled again and again while training runs.

## Why it is slow
Tracing turns Python into a graph. It takes 0.1 to several seconds and should happen once. It
repeats if a loop calls `model.compile()`, passes a changing Python number to a `tf.function`,
decorates a function again in each round, or builds the same model again (folds of a cross
validation).

## Evidence
- at least ${MIN_RETRACES} traces or compilations after the first steps, of the same model or
  function, or of at least ${MIN_MODELS} models of the same build;
- steps with a trace took so much longer that the training would gain ${LISTED_FROM_GAIN:gain} or
  more without the traces; for models of the same build, tracing is ${WORTH_SHARE:percent} or more
  of the training.

## Predicted gain
The training without the extra time of those steps. It comes from steps without a trace or, if every
step traces, from the same call repeated with the same arguments.

## Example
```python
for epoch in range(20):
    model.compile(keras.optimizers.Adam(rate * 0.9**epoch), "mse")
    model.fit(x, y)
```
```python
train_step(x, y, 0.1 * step)          # a tf.function and a Python float
```

## Use instead
```python
model.optimizer.learning_rate = rate * 0.9**epoch
```
```python
train_step(x, y, tf.constant(0.1 * step))
```

## Fix safety
Passing tensors keeps the numbers of a step without random operations (dropout, sampling). With
random operations, each new trace drew other numbers than one trace does: unsafe. Removing
`compile()` from a loop changes them, too: each compile resets the optimizer's state (Adam's
moments, momentum), and the cured script keeps it.

## When not to
- Each different model must be traced. So must each model of the same build. If they train long
  enough, that does not matter and is not reported.
- A second trace for a last, smaller batch happens once.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from fitdoctor.analysis.rows import compile_events
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.records import Event
from fitdoctor.findings import ranking
from fitdoctor.findings.edits import TENSORFLOW, Edit, HoistCompile, WrapArgument
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import saved_leaving
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.batch_shapes import FEW_SHAPES, different_shapes
from fitdoctor.rules.support.places import at, compile_place
from fitdoctor.units import duration

MIN_RETRACES = 3
# Models of the same build, and what tracing them has to take.
MIN_MODELS = 3
WORTH_SHARE = 0.1
# How well the step without a trace is known.
LEFT_ERROR = 0.2
MOSTLY_TRACING = 0.9
MOST_CHARACTERS = 160
_CHANGED = re.compile(r"(\w+): Literal\[(.+?)\] -> Literal\[(.+)\]")


class Retracing(Rule):
    summary = "the step is traced or compiled again and again"
    safety = "unsafe"
    numbers_from = (ranking,)

    def detect(self, view: View) -> Finding | None:
        """Repeated traces of one model or function, and what they cost."""
        lost = view.costs.parts.get("compile", 0.0)
        retraces = repeated_traces(compile_events(view.recorded))
        if len(retraces) < MIN_RETRACES or lost <= 0:
            return self._same_build(view, lost)
        recompiles = _repeated_compile_calls(view)
        if not recompiles and len(different_shapes(retraces)) > FEW_SHAPES:
            return None  # CO002: compiled for one shape after the other, not for one shape again
        if recompiles:
            where, cause, cure = _compile_in_loop(recompiles)
        else:
            where, cause, cure = _changing_argument(view, retraces)
        left = Interval.around(_left(view, lost), LEFT_ERROR)
        found = self.finding(
            view,
            f"{cause}: {len(retraces)} traces, {_retracing_takes(view, lost)}",
            cure,
            saves={"compile": saved_leaving(view.costs.total, left)},
            evidence={
                "retraces": len(retraces),
                "compile_ns_per_step": round(lost),
                "compile_calls": len(recompiles),
                "changed": _what_changed(retraces),
            },
        )
        # Where it is not known what is called again, the line that trains is not the place.
        return replace(found, where=where)

    def _same_build(self, view: View, lost: float) -> Finding | None:
        """The same model built, traced and trained again and again."""
        builds = Counter(one.detail.build for one in view.recorded.events if one.name == "model")
        models = max(builds.values(), default=0)
        if models < MIN_MODELS or lost < WORTH_SHARE * view.costs.total.value:
            return None
        return self.finding(
            view,
            f"the same model was built {models} times: {_retracing_takes(view, lost)}",
            Cure(
                "advice",
                "build and compile it once; before each round put the first weights back "
                "(model.get_weights, set_weights), and the optimizer's variables likewise",
            ),
            # The first one has to be traced in any case.
            saves={"compile": Interval.around(lost * (models - 1) / models, LEFT_ERROR)},
            where=compile_place(view),
            evidence={"models": models, "compile_ns_per_step": round(lost)},
        )


def _retracing_takes(view: View, lost: float) -> str:
    whole = view.costs.total.value
    return f"retracing takes {duration(lost)} of {duration(whole)} per {view.costs.unit}"


def _left(view: View, lost: float) -> float:
    """A step without tracing.

    Where nearly all of the time is tracing, the little that remains is slowed by it too
    (cold caches, a starved loader); the repeated call and the loader alone are better known.
    """
    rest = max(1.0, view.costs.total.value - lost)
    repeated = view.timed(RepeatedCall)
    if repeated is None or lost < MOSTLY_TRACING * view.costs.total.value:
        return rest
    wait = view.costs.parts.get("input_wait", 0.0)
    loading = min(wait, view.loader.ns.value) if view.loader is not None else wait
    return min(rest, repeated.value + loading)


def repeated_traces(events: Sequence[Event]) -> list[Event]:
    """Traces beyond the first of the same function of the same model."""
    seen: Counter[tuple[object, ...]] = Counter()
    repeated = []
    for event in events:
        detail = event.detail
        if (detail.name or "").startswith("Dataset_"):
            continue  # pipelines are traced when they are made, also by Keras itself
        key = (detail.name, detail.file, detail.line, detail.model)
        seen[key] += 1
        # TensorFlow traces a function twice when it creates variables; both are the first.
        if seen[key] > 2 or (seen[key] == 2 and detail.changed):
            repeated.append(event)
    return repeated


def _repeated_compile_calls(view: View) -> list[Event]:
    """compile() of one and the same model from one line, beyond the first."""
    models = {event.detail.model for event in compile_events(view.recorded)}
    by_place: dict[tuple[object, ...], list[Event]] = {}
    for event in view.compile_calls:
        detail = event.detail
        if detail.model in models:
            by_place.setdefault((detail.file, detail.line, detail.model), []).append(event)
    most = max(by_place.values(), key=len, default=[])
    return most if len(most) >= MIN_RETRACES else []


def _compile_in_loop(calls: Sequence[Event]) -> tuple[Where | None, str, Cure]:
    where = place_of(calls[-1].detail)
    cure = Cure(
        "unsafe",
        "compile once; change the rate with model.optimizer.learning_rate = … "
        "(each compile also reset the optimizer's state)",
        at(where, HoistCompile),
    )
    return where, f"model.compile() was called {len(calls)} times for the same model", cure


def _changing_argument(view: View, retraces: Sequence[Event]) -> tuple[Where | None, str, Cure]:
    detail = retraces[-1].detail
    where = Where(*detail.called_from) if detail.called_from else None
    changed = _what_changed(retraces)
    if not changed:
        cure = Cure("safe", "create the compiled function once, outside the loop")
        return where, f"{detail.name} is created again each time", cure
    value_changes = f"a Python value passed to {detail.name} changes ({changed})"
    if view.backend == "jax":
        cure = Cure("unsafe", "pass it as an array, or take it out of jit's static arguments")
        return where, value_changes, cure
    if "Literal" in changed:
        # Each trace seeds its random operations again; one trace continues from its own seeds.
        cure = Cure(
            "unsafe",
            "pass it as a tensor: tf.constant(…) or a tf.Variable; the step then draws other "
            "random numbers",
            _as_tensor(view, where, retraces),
        )
        return where, value_changes, cure
    cure = Cure("unsafe", "pad or bucket to a few shapes, or give tf.function an input_signature")
    return where, f"{detail.name} gets new shapes or types ({changed})", cure


def _as_tensor(view: View, where: Where | None, retraces: Sequence[Event]) -> tuple[Edit, ...]:
    """`tf.constant` around the one argument that changes, if it is a fraction each time."""
    texts = [text for event in retraces for text in event.detail.changed or ()]
    found = [_CHANGED.fullmatch(text) for text in texts]
    changed = [one for one in found if one is not None]
    # A whole number may be a shape or a count, which must not become a tensor.
    if len(changed) < len(texts) or not all(_is_float(one[2], one[3]) for one in changed):
        return ()
    names = {one[1] for one in changed}
    if view.backend != "tensorflow" or len(names) != 1:
        return ()
    detail = retraces[-1].detail
    call, argument, defined = str(detail.name), names.pop(), place_of(detail)
    return at(where, WrapArgument, call, argument, "tf.constant(", ")", defined, (TENSORFLOW,))


def _is_float(*literals: str) -> bool:
    try:
        return all(isinstance(ast.literal_eval(one), float) for one in literals)
    except (ValueError, SyntaxError):
        return False


def _what_changed(retraces: Sequence[Event]) -> str | None:
    changed = [text for event in retraces for text in event.detail.changed or ()]
    return changed[-1][:MOST_CHARACTERS] if changed else None


RULE = Retracing()
