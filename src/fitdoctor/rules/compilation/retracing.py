"""# retracing (CO001)

## What it finds
The step is traced or compiled again and again while training runs.

## Why it is slow
Tracing turns Python into a graph, which takes 0.1 to several seconds and is meant to happen
once. It is repeated when `model.compile()` is called in a loop, when a Python number that
changes is passed to a `tf.function`, when a function is decorated anew in each round, or when
each round builds the same model anew (folds of a cross validation).

## Evidence
- at least 3 traces or compilations after the first steps, of the same model or function, or of at
  least 3 models of the same build;
- steps with a trace in them took so much longer that it is 5 % or more of the training.

## Predicted gain
The training without the extra time of those steps: from steps without a trace, or, where every
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
Passing tensors keeps the numbers of a step without random operations (dropout, sampling); with
them, each new trace had drawn other numbers than one trace does: unsafe. Removing `compile()` from
a loop changes them, too: each compile also resets the optimizer's state (Adam's moments, momentum),
which the cured script keeps.

## When not to
- Models that differ have to be traced each. So do many of the same build, but where they train
  long enough, that does not matter and is not told.
- A second trace for a last, smaller batch happens once.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

from fitdoctor.analysis.rows import compile_events
from fitdoctor.analysis.view import View
from fitdoctor.contract.records import Event
from fitdoctor.findings.edits import TENSORFLOW, Edit, HoistCompile, WrapArgument
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain, saved_leaving
from fitdoctor.rules.support.places import compile_place
from fitdoctor.units import duration

PAGE = __doc__ or ""

MIN_RETRACES = 3
# Models of the same build, and what tracing them has to take.
MIN_MODELS = 3
WORTH_SHARE = 0.1
# Compilations for more shapes than this are CO002's.
MANY_SHAPES = 3
# How well the step without a trace is known.
LEFT_ERROR = 0.2
MOSTLY_TRACING = 0.9
_CHANGED = re.compile(r"(\w+): Literal\[(.+?)\] -> Literal\[(.+)\]")


class Retracing:
    """CO001."""

    code = "CO001"
    name = "retracing"
    summary = "the step is traced or compiled again and again"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """Repeated traces of one model or function, and what they cost."""
        lost = view.costs.parts.get("compile", 0.0)
        retraces = repeated_traces(compile_events(view.recorded))
        if len(retraces) < MIN_RETRACES or lost <= 0:
            return self._same_build(view, lost)
        recompiles = _repeated_compile_calls(view)
        if not recompiles and _shapes_differ(retraces):
            return None  # CO002
        if recompiles:
            where, cause, cure = _compile_in_loop(view, recompiles)
        else:
            where, cause, cure = _changing_argument(view, retraces)
        left = Interval.around(_left(view, lost), LEFT_ERROR)
        saved = saved_leaving(view.costs.total, left)
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"{cause}: {len(retraces)} traces, {duration(lost)} of every "
                f"{duration(view.costs.total.value)} go into tracing again"
            ),
            gain=gain(view.costs.total, saved),
            cure=cure,
            evidence={
                "retraces": len(retraces),
                "compile_ns_per_step": round(lost),
                "compile_calls": len(recompiles),
                "changed": _what_changed(retraces),
            },
            saves={"compile": saved},
        )

    def _same_build(self, view: View, lost: float) -> Finding | None:
        """The same model built, traced and trained again and again."""
        models = _same_builds(view)
        total = view.costs.total
        if models < MIN_MODELS or lost < WORTH_SHARE * total.value:
            return None
        # The first one has to be traced in any case.
        saved = Interval.around(lost * (models - 1) / models, LEFT_ERROR)
        return Finding(
            rule=self.code,
            name=self.name,
            where=compile_place(view) or place_of(view.recorded),
            message=(
                f"the same model was built {models} times: {duration(lost)} of every "
                f"{duration(total.value)} go into tracing it again"
            ),
            gain=gain(total, saved),
            cure=Cure(
                "advice",
                "build and compile it once; before each round put the first weights back "
                "(model.get_weights, set_weights), and the optimizer's variables likewise",
            ),
            evidence={"models": models, "compile_ns_per_step": round(lost)},
            saves={"compile": saved},
        )


def _same_builds(view: View) -> int:
    """How many models of one build were trained from this line."""
    builds = Counter(
        str(event.detail.get("build")) for event in view.recorded.events if event.name == "model"
    )
    return max(builds.values(), default=0)


def _left(view: View, lost: float) -> float:
    """A step without tracing.

    Where nearly all of the time is tracing, the little that remains is slowed by it too
    (cold caches, a starved loader); the repeated call and the loader alone are better known.
    """
    rest = max(1.0, view.costs.total.value - lost)
    repeated = view.probe_ns("repeat_call")
    if repeated is None or lost < MOSTLY_TRACING * view.costs.total.value:
        return rest
    wait = view.costs.parts.get("input_wait", 0.0)
    loading = min(wait, view.loader.ns.value) if view.loader is not None else wait
    return min(rest, repeated.value + loading)


def repeated_traces(events: list[Event]) -> list[Event]:
    """Traces beyond the first of the same function of the same model."""
    seen: Counter[tuple[object, ...]] = Counter()
    repeated = []
    for event in events:
        if str(event.detail.get("name", "")).startswith("Dataset_"):
            continue  # pipelines are traced when they are made, also by Keras itself
        detail = event.detail
        key = (detail.get("name"), detail.get("file"), detail.get("line"), detail.get("model"))
        seen[key] += 1
        # TensorFlow traces a function twice when it creates variables; both are the first.
        if seen[key] > 2 or (seen[key] == 2 and detail.get("changed")):
            repeated.append(event)
    return repeated


def _shapes_differ(compiles: list[Event]) -> bool:
    """Whether XLA compiled for one shape after the other, not for one shape again."""
    shapes = {str(event.detail["shapes"]) for event in compiles if event.detail.get("shapes")}
    return len(shapes) > MANY_SHAPES


def _repeated_compile_calls(view: View) -> list[Event]:
    """compile() of one and the same model from one line, beyond the first."""
    models = {event.detail.get("model") for event in compile_events(view.recorded)}
    by_place: dict[tuple[object, ...], list[Event]] = {}
    for event in view.compile_calls:
        detail = event.detail
        if detail.get("model") in models:
            key = (detail.get("file"), detail.get("line"), detail["model"])
            by_place.setdefault(key, []).append(event)
    most = max(by_place.values(), key=len, default=[])
    return most if len(most) >= MIN_RETRACES else []


def _compile_in_loop(view: View, calls: list[Event]) -> tuple[Where | None, str, Cure]:
    detail = calls[-1].detail
    where = Where(str(detail["file"]), int(detail["line"])) if detail.get("file") else None
    cure = Cure(
        "unsafe",
        "compile once; change the rate with model.optimizer.learning_rate = … "
        "(each compile also reset the optimizer's state)",
        (HoistCompile(where),) if where is not None else (),
    )
    return where, f"model.compile() was called {len(calls)} times for the same model", cure


def _changing_argument(view: View, retraces: list[Event]) -> tuple[Where | None, str, Cure]:
    detail = retraces[-1].detail
    called_from = detail.get("called_from")
    where = Where(str(called_from[0]), int(called_from[1])) if called_from else None
    changed = _what_changed(retraces)
    if changed and view.backend == "jax":
        cure = Cure("unsafe", "pass it as an array, or take it out of jit's static arguments")
        return where, f"a Python value passed to {detail.get('name')} changes ({changed})", cure
    if changed and "Literal" in changed:
        # Each trace seeds its random operations anew; one trace draws on from its own seeds.
        cure = Cure(
            "unsafe",
            "pass it as a tensor: tf.constant(…) or a tf.Variable; random numbers that the step "
            "draws are then others",
            _as_tensor(view, where, retraces),
        )
        return where, f"a Python value passed to {detail.get('name')} changes ({changed})", cure
    if changed:
        cure = Cure(
            "unsafe", "pad or bucket to a few shapes, or give tf.function an input_signature"
        )
        return where, f"{detail.get('name')} gets new shapes or types ({changed})", cure
    cure = Cure("safe", "create the compiled function once, outside the loop")
    return where, f"{detail.get('name')} is created anew each time", cure


def _as_tensor(view: View, where: Where | None, retraces: list[Event]) -> tuple[Edit, ...]:
    """`tf.constant` around the one argument that changes, if it is a fraction each time."""
    texts = [text for event in retraces for text in event.detail.get("changed") or ()]
    found = [_CHANGED.fullmatch(text) for text in texts]
    changed = [one for one in found if one is not None]
    # A whole number may be a shape or a count, which must not become a tensor.
    if len(changed) < len(texts) or not all(_is_float(one[2], one[3]) for one in changed):
        return ()
    names = {one[1] for one in changed}
    if where is None or view.backend != "tensorflow" or len(names) != 1:
        return ()
    detail = retraces[-1].detail
    definition = Where(str(detail["file"]), int(detail["line"])) if detail.get("file") else None
    call, argument = str(detail.get("name")), names.pop()
    return (WrapArgument(where, call, argument, "tf.constant(", ")", definition, (TENSORFLOW,)),)


def _is_float(*literals: str) -> bool:
    try:
        return all(isinstance(ast.literal_eval(one), float) for one in literals)
    except (ValueError, SyntaxError):
        return False


def _what_changed(retraces: list[Event]) -> str | None:
    changed = [text for event in retraces for text in event.detail.get("changed") or ()]
    return changed[-1][:160] if changed else None


RULE = Retracing()
