"""# exploding-trace (CO003)

## What it finds
Tracing and compiling the first step takes longer than the training that follows.

## Why it is slow
A loop that is unrolled into the graph (`unroll=True`, a Python `for` in `call`) makes one node per
round: hundreds of steps of a sequence become tens of thousands of nodes.

## Evidence
- start-up and first steps took at least ${LONG_NS:s}, and ${SHARE:percent} or more of the whole
  planned run;
- a copy of your model with the recurrence rolled up starts faster; or the step has
  ${MANY_OPERATIONS:count} operations or more, or calls one layer ${MANY_CALLS} times or more, and
  tracing and compiling them took that time. A large model that XLA compiles slowly is neither.

## Predicted gain
The whole run, start-up and planned steps, now against the copy's. An unrolled layer may be faster
per step, so the verdict depends on the length of the run.

## Example
```python
keras.layers.LSTM(32, unroll=True)
```

## Use instead
```python
keras.layers.LSTM(32)
```

## Fix safety
The same arithmetic in another order: results differ in the last digits. Unsafe.

## When not to
The run is long enough for faster steps to pay back the start-up. The message says from which step.
"""

from __future__ import annotations

from fitdoctor.analysis.rows import compile_events, rows_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import ChangedCopy, UnrolledLayers
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.findings.edits import DropKeyword, Edit
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import training_file
from fitdoctor.units import duration

LONG_NS = 3e9
SHARE = 0.3
# A model of a hundred layers has some thousand operations in a step; an unrolled loop has more.
MANY_OPERATIONS = 5000
MANY_CALLS = 16
# How well the ratio of the two runs is known.
ERROR = 0.15
# Without a copy to compare with, this is what tracing a rolled-up loop takes.
ROLLED_TRACE_NS = 1e9


class ExplodingTrace(Rule):
    summary = "tracing the first step takes longer than the training"
    safety = "unsafe"
    # Tracing that recurs is not one long start.
    explained_by = frozenset({"CO001", "CO002"})

    def detect(self, view: View) -> Finding | None:
        """Start-ups that the planned steps do not outweigh."""
        starts, start = _starts(view)
        steps = view.planned_steps
        if view.is_group or start < LONG_NS:
            return None
        # A step without the beginnings.
        parts = view.costs.parts
        plain = view.costs.total.value - parts.get("compile", 0.0) - parts.get("start_up", 0.0)
        now = start + steps * plain
        if start < SHARE * now:
            return None
        rolled = _rolled(view, plain)
        traced = sum(event.dur for event in compile_events(view.recorded))
        if rolled is None and (traced < SHARE * now or not _explodes(view)):
            return None
        if rolled is None:
            first, step = ROLLED_TRACE_NS, plain
            cure = Cure(self.safety, "keras.ops.scan or an RNN layer instead of a Python loop")
        else:
            first, step = rolled
            pays_off = _pays_off(plain, start / starts, first, step)
            cure = Cure(self.safety, f"unroll=False{pays_off}", _not_unrolled(view))
        ratio = now / (starts * first + steps * step)
        return self.finding(
            view,
            f"{'the first step' if starts == 1 else f'{starts} first steps'} took "
            f"{duration(start)}; all {steps} steps of the run together take "
            f"{duration(steps * plain)}",
            cure,
            predicted=Interval.around(ratio, ERROR),
            scope="run",
            evidence={
                "first_step_ns": round(start),
                "planned_steps": steps,
                "first_step_after_ns": round(first),
                "step_after_ns": round(step),
            },
        )


def _explodes(view: View) -> bool:
    """Whether the step has the shape of an unrolled loop."""
    seen = view.found(Operations)
    many = seen is not None and seen.count >= MANY_OPERATIONS
    if many and seen is not None and seen.on_device:
        # The kernels of a loop that is rolled up are as many.
        many = bool(view.layers) and not any(layer.loops for layer in view.layers)
    # One activation for the whole of a network is called often, and unrolls nothing.
    return many or any(layer.calls >= MANY_CALLS and layer.parameters for layer in view.layers)


def _starts(view: View) -> tuple[int, float]:
    """How many trainings began with tracing, and what their beginnings took together.

    One fit, or several of new models from one line.
    """
    first_call = min((row.call for row in rows_of(view.recorded)), default=0)
    later = {row.call for row in rows_of(view.recorded) if row.compiled and row.call != first_call}
    parts = view.costs.parts
    recurring = (parts.get("compile", 0.0) + parts.get("start_up", 0.0)) * view.costs.steps
    return 1 + len(later), view.costs.one_off_ns + (recurring if later else 0.0)


def _rolled(view: View, plain: float) -> tuple[float, float] | None:
    """First step and later steps of the rolled-up copy."""
    copy, step = view.found(ChangedCopy, "rolled"), view.changed_step("rolled")
    if copy is None or copy.first_ns is None or step is None:
        return None
    rest = max(0.0, plain - (view.frozen.value if view.frozen else 0.0))
    return float(copy.first_ns), step.value + rest


def _not_unrolled(view: View) -> tuple[Edit, ...]:
    file, unrolled = training_file(view), view.found(UnrolledLayers)
    if file is None or unrolled is None:
        return ()
    return tuple(DropKeyword(file, name, "unroll") for name in unrolled.types)


def _pays_off(plain: float, start: float, first: float, step: float) -> str:
    """From how many steps on the unrolled layer would win."""
    faster = step - plain
    if faster <= 0:
        return ""
    return f"; unrolled steps are faster and pay off after {(start - first) / faster:,.0f} steps"


RULE = ExplodingTrace()
