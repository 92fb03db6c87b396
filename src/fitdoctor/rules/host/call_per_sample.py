"""# call-per-sample (HO001)

## What it finds
`predict`, `fit` or `evaluate` is called again and again for one small batch each time.

## Why it is slow
Each of these calls builds a data pipeline, callbacks and an iterator before its first step. On
TensorFlow that takes 20 to 50 ms, whatever the batch: far more than the step.

## Evidence
- at least 8 calls from the same line with at most 4 steps each;
- the same work through `predict_on_batch`, `train_on_batch` or `test_on_batch`, timed on your
  own model and your own data, is faster by 5 % or more of the loop.

## Predicted gain
The loop's time per round, with the call replaced by the measured alternative. Your own code
between the calls stays as it is.

## Example
```python
for state in states:
    action = model.predict(state[None], verbose=0)
```

## Use instead
```python
    action = model.predict_on_batch(state[None])
```
Collecting many rows into one `predict` is faster still. `model(x)` is fast on TensorFlow and
torch, but slower than `predict` on JAX: fitdoctor recommends only what it measured as faster.

## Fix safety
`predict_on_batch`: the same numbers for the same batch. `train_on_batch`: the same update;
no callbacks, no History object, no epochs. Calls with callbacks are therefore unsafe to replace.

## When not to
- Each call has many steps: its start-up is spread over them.
- On JAX, `train_on_batch` is slower than a one-batch `fit`; nothing is recommended then.
"""

from __future__ import annotations

from typing import Any

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit, RenameCall
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration, factor

PAGE = __doc__ or ""

# An alternative must beat the call itself by this much in the same interleaved trial.
# Steps per call of a fit that train_on_batch can stand for.
ONE_STEP = 1.2
CLEARLY_FASTER = 1.1
# Arrays of one batch, which the other calls take as they are.
ARRAYS = ("ndarray", "Tensor", "ArrayImpl")


class CallPerSample:
    """HO001."""

    code = "HO001"
    name = "call-per-sample"
    summary = "predict, fit or evaluate is called for one small batch at a time"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """A group of short calls, and a measured alternative that is faster."""
        data = view.result("alternatives")
        if not view.is_group or data is None:
            return None
        same = from_windows(data["same"]["ns"])
        best = _best(data["alternatives"])
        if same is None or best is None:
            return None
        name, alternative = best
        if alternative.value * CLEARLY_FASTER > same.value:
            return None
        if view.recorded.kind == "fit" and view.costs.steps > ONE_STEP * view.costs.calls:
            return None  # train_on_batch is one step, and these calls take several
        parts = view.costs.parts
        # A function that is traced anew is traced anew in the other call as well.
        outside = parts.get("between_calls", 0.0) + parts.get("compile", 0.0)
        in_call = max(0.0, view.costs.total.value - outside)
        ratio = alternative.divided_by(same)
        saved = Interval(
            in_call * (1 - ratio.value),
            max(0.0, in_call * (1 - min(1.0, ratio.high))),
            in_call * (1 - ratio.low),
        )
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"{view.recorded.kind} was called {view.costs.calls} times for one small batch "
                "each: "
                f"{duration(same.value)} a call, {duration(alternative.value)} with {name} "
                f"({factor(same.value / alternative.value)}× on this model)"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                _safety(view.recorded.kind),
                f"call model.{name} instead of {view.recorded.kind}",
                _edits(view, name),
            ),
            evidence={
                "calls": view.costs.calls,
                "call_ns": round(same.value),
                "alternative": name,
                "alternative_ns": round(alternative.value),
                "between_calls_ns": round(parts.get("between_calls", 0.0)),
            },
            saves={"start_up": saved},
        )


def _best(alternatives: dict[str, Any]) -> tuple[str, Interval] | None:
    """The fastest; of two within a few per cent the first, which keeps the numbers."""
    timed = {name: from_windows(data["ns"]) for name, data in alternatives.items()}
    found = [(name, value) for name, value in timed.items() if value is not None]
    if not found:
        return None
    first = found[0]
    best = min(found, key=lambda item: item[1].value)
    return first if first[1].value <= 1.2 * best[1].value else best


def _edits(view: View, to: str) -> tuple[Edit, ...]:
    """The other call's name, where every call was one step on arrays.

    Not for evaluate: test_on_batch goes on counting where evaluate starts anew.
    """
    recorded = view.recorded
    given = str(recorded.detail.get("input", ""))
    if not recorded.file or not recorded.line or not given.endswith(ARRAYS):
        return ()
    if any(call.steps != 1 for call in recorded.calls):
        return ()
    where = Where(recorded.file, recorded.line)
    if (recorded.kind, to) == ("predict", "predict_on_batch"):
        return (RenameCall(where, "predict", to, ("batch_size", "verbose", "steps"), ("x",)),)
    if (recorded.kind, to) == ("fit", "train_on_batch"):
        drop = ("batch_size", "epochs", "verbose", "shuffle", "initial_epoch", "steps_per_epoch")
        takes = ("x", "y", "sample_weight", "class_weight")
        return (RenameCall(where, "fit", to, drop, takes, positional=2, same_result=False),)
    return ()


def _safety(kind: str) -> Safety:
    return "safe" if kind == "predict" else "unsafe"


RULE = CallPerSample()
