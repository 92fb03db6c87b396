"""# call-per-sample (HO001)

## What it finds
`predict`, `fit` or `evaluate` is called again and again for one small batch each time.

## Why it is slow
Each of these calls builds a data pipeline, callbacks and an iterator before its first step. On
TensorFlow that takes 20 to 50 ms, whatever the batch: far more than the step.

## Evidence
- at least ${GROUP_CALLS} calls from the same line with at most ${GROUP_STEPS_PER_CALL} steps each;
- the same work through `predict_on_batch`, `train_on_batch` or `test_on_batch`, timed in turns
  with the call on your own model and data, is faster by ${CLEARLY_FASTER:gain} or more.

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
- Each call has many steps: they share its start-up.
- On JAX, `train_on_batch` is slower than a one-batch `fit`; nothing is recommended then.
"""

from __future__ import annotations

from collections.abc import Mapping

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.contract import limits
from fitdoctor.contract.evidence.loop import CallAlternatives
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.findings.edits import Edit, RenameCall
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at
from fitdoctor.units import duration, factor

# Steps per call of a fit that train_on_batch can replace.
ONE_STEP = 1.2
# An alternative must beat the call itself by this much in the same interleaved trial.
CLEARLY_FASTER = 1.1
# The first alternative keeps the numbers: it is the choice unless another is this much faster.
AS_FAST = 1.2
# Arrays of one batch, which the other calls take as they are.
ARRAYS = ("ndarray", "Tensor", "ArrayImpl")


class CallPerSample(Rule):
    summary = "predict, fit or evaluate is called for one small batch at a time"
    safety = "safe"
    numbers_from = (limits,)

    def detect(self, view: View) -> Finding | None:
        """A group of short calls, and a measured alternative that is faster."""
        tried = view.found(CallAlternatives)
        if not view.is_group or tried is None:
            return None
        same = from_windows(tried.same.ns)
        best = _best(tried.alternatives)
        if same is None or best is None:
            return None
        name, alternative = best
        if alternative.value * CLEARLY_FASTER > same.value:
            return None
        kind, calls = view.recorded.kind, view.costs.calls
        if kind == "fit" and view.costs.steps > ONE_STEP * calls:
            return None  # train_on_batch is one step, and these calls take several
        return self.finding(
            view,
            f"{kind} was called {calls} times for one small batch each: "
            f"{duration(same.value)} a call, {duration(alternative.value)} with {name} "
            f"({factor(same.value / alternative.value)}× on this model)",
            Cure(
                "safe" if kind == "predict" else "unsafe",
                f"call model.{name} instead of {kind}",
                _edits(view, name),
            ),
            saves={"start_up": _saved(view, alternative.divided_by(same))},
            evidence={
                "calls": calls,
                "call_ns": round(same.value),
                "alternative": name,
                "alternative_ns": round(alternative.value),
                "between_calls_ns": round(view.costs.parts.get("between_calls", 0.0)),
            },
            how="tried",
        )


def _saved(view: View, left: Interval) -> Interval:
    """What the other call saves of a round, which it leaves this share of.

    A function that is traced again in every call is traced again in the other call as well.
    """
    parts = view.costs.parts
    outside = parts.get("between_calls", 0.0) + parts.get("compile", 0.0)
    in_call = max(0.0, view.costs.total.value - outside)
    return Interval.exact(1.0).minus(left).scaled(in_call)


def _best(alternatives: Mapping[str, Timed]) -> tuple[str, Interval] | None:
    """The fastest; of two that are about as fast the first, which keeps the numbers."""
    timed = {name: from_windows(one.ns) for name, one in alternatives.items()}
    found = [(name, value) for name, value in timed.items() if value is not None]
    if not found:
        return None
    first = found[0]
    best = min(found, key=lambda item: item[1].value)
    return first if first[1].value <= AS_FAST * best[1].value else best


def _edits(view: View, to: str) -> tuple[Edit, ...]:
    """The other call's name, where every call was one step on arrays.

    Not for evaluate: test_on_batch keeps counting where evaluate starts from scratch.
    """
    recorded = view.recorded
    where, given = line_of(recorded), recorded.detail.input or ""
    if not given.endswith(ARRAYS) or any(call.steps != 1 for call in recorded.calls):
        return ()
    if (recorded.kind, to) == ("predict", "predict_on_batch"):
        return at(where, RenameCall, "predict", to, ("batch_size", "verbose", "steps"), ("x",))
    if (recorded.kind, to) == ("fit", "train_on_batch"):
        drop = ("batch_size", "epochs", "verbose", "shuffle", "initial_epoch", "steps_per_epoch")
        takes = ("x", "y", "sample_weight", "class_weight")
        return at(where, RenameCall, "fit", to, drop, takes, positional=2, same_result=False)
    return ()


RULE = CallPerSample()
