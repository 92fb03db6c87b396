"""# heavy-validation (CB002)

## What it finds
Validation takes a large part of the training time: its batches are too small, or it runs too often.

## Why it is slow
`validation_batch_size` defaults to the training's batch size. Validation needs no gradients, so its
batches can be far larger. With tiny ones, each step is mostly overhead. Validating a large set
after each short epoch costs more than the epoch.

## Evidence
One of these:

- a hand-written loop calls `evaluate` repeatedly between its steps, and these calls are
  ${TOO_OFTEN_SHARE:percent} of the time or more;
- a callback calls `predict` or `evaluate` at the end of epochs, and these calls, timed one by one,
  are ${CALLED_SHARE:percent} of the time or more;
- validation passes, measured one by one, are ${WORTH_SHARE:percent} or more of the time, and:
  `validation_steps` reads the same validation data ${SEVERAL_PASSES} times or more; or the same
  pass in larger batches, tried on your own model and data, is faster by a factor of ${WORTH_FASTER}
  or more; or validation is at least ${TOO_OFTEN_SHARE:percent} of the time, in passes of more than
  ${FEW_STEPS} batches.

## Predicted gain
One pass instead of several, the measured pass in larger batches, or a validation every ${EVERY}
epochs. For calls in a callback: one call per epoch instead of several, and that every ${EVERY}
epochs. For calls in a loop a bound: the loop without them.

## Example
```python
model.fit(x, y, validation_data=(xv, yv), validation_batch_size=1)
```

## Use instead
```python
model.fit(x, y, validation_data=(xv, yv), validation_batch_size=1024)
model.fit(x, y, validation_data=(xv, yv), validation_freq=5)
```

## Fix safety
Larger validation batches, or one pass instead of several, keep the weights; the validation loss may
differ in the last digits. Validating less often changes what EarlyStopping, ReduceLROnPlateau and
checkpoints see: unsafe.

## When not to
The pass has only a few batches: tiny-epochs (HO003) covers its fixed cost.
"""

from __future__ import annotations

import math

from fitdoctor.analysis.validation_between import PART
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.validation import ValidationBatches, ValidationPasses
from fitdoctor.contract.places import CallLine
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of, place_of
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, validated_every
from fitdoctor.units import duration, percent

WORTH_SHARE = 0.08
CALLED = ("predict", "evaluate")
CALLED_SHARE = 0.2
# The time of a hook is the time of its calls and a little more.
ROUNDING = 1.05
TOO_OFTEN_SHARE = 0.3
EVERY = 5
FEW_STEPS = 5
LOADER_BATCH_SIZE = 1  # its position among the parameters of a DataLoader
# Times that a validation goes over the same data, from which that is no rounding of steps.
SEVERAL_PASSES = 2
# Larger batches must shorten the pass at least this much to be the cure.
WORTH_FASTER = 1.5
# The next larger size must be worth its memory.
WORTH_LARGER = 1.25
PASS_ERROR = 0.2


class HeavyValidation(Rule):
    summary = "validation takes a large part of the time"
    safety = "unsafe"
    # Validation that has to skip what training uses takes long for that reason.
    explained_by = frozenset({"IN007"})

    def detect(self, view: View) -> Finding | None:
        """The larger of what validation and what calls in callbacks cost."""
        ways = (self._passes(view), self._called(view), self._in_loop(view))
        return max((o for o in ways if o is not None), key=lambda o: o.gain.value, default=None)

    def _in_loop(self, view: View) -> Finding | None:
        """Calls of evaluate between the steps of a hand-written loop."""
        spent = view.costs.parts.get(PART, 0.0)
        share = spent / view.costs.total.value
        if not view.validations or share < TOO_OFTEN_SHARE:
            return None
        most = max(view.validations, key=lambda one: sum(call.dur for call in one.calls))
        every = view.costs.steps / max(1, len(most.calls))
        each = sum(call.dur for call in most.calls) / max(1, len(most.calls))
        batches = sum(call.steps for call in most.calls) / max(1, len(most.calls))
        return self.finding(
            view,
            f"evaluate runs every {every:.0f} steps for {duration(each)} ({batches:.0f} batches): "
            f"{percent(share)} of the time",
            Cure("advice", "evaluate less often (once per epoch), and in batches of 1024 or more"),
            saves={PART: Interval(spent, 0.0, spent)},
            where=place_of(most),
            evidence={
                "calls": len(most.calls),
                "every_steps": round(every, 1),
                "call_ns": round(each),
                "batches": round(batches, 1),
                "share": round(share, 3),
            },
            how="bound",
        )

    def _called(self, view: View) -> Finding | None:
        """Calls of predict or evaluate that a callback makes at the end of epochs."""
        called = [one for one in view.inner if one.kind in CALLED and one.calls]
        most = max(called, key=lambda one: sum(call.dur for call in one.calls), default=None)
        epochs = sum(call.epochs for call in view.recorded.calls)
        at_epochs = sum(one.ns for one in view.recorded.callbacks if one.hook == "epoch")
        if most is None or view.is_group or not epochs:
            return None
        spent = sum(call.dur for call in most.calls)
        total, per_step = view.costs.total, spent / max(1, view.costs.steps)
        share = per_step / total.value
        if share < CALLED_SHARE or spent > at_epochs * ROUNDING:
            return None
        per_epoch = len(most.calls) / epochs
        # Once in an epoch where there are several calls, and not in every epoch.
        left = 1 / (max(1.0, per_epoch) * EVERY)
        saved = min(per_step * (1 - left), view.costs.parts.get("callbacks", per_step))
        return self.finding(
            view,
            f"a callback calls {most.kind} {_how_often(per_epoch)}, "
            f"{duration(spent / len(most.calls))} each: {percent(share)} of the time",
            Cure(
                "advice",
                f"call {most.kind} once and use its result again, in batches of 1024 or more, and "
                f"every {EVERY} epochs; or let fit compute it (validation_data, metrics)",
            ),
            saves={"callbacks": Interval(saved, saved * (1 - 1 / EVERY), saved)},
            where=place_of(most),
            evidence={
                "calls": len(most.calls),
                "calls_per_epoch": round(per_epoch, 1),
                "call_ns": round(spent / len(most.calls)),
                "share": round(share, 3),
            },
        )

    def _passes(self, view: View) -> Finding | None:
        """A large share of the time in validation, and a measured way to spend less."""
        spent = view.parts.get("validation", 0.0)
        share = spent / view.costs.total.value
        passes = [e for e in view.recorded.events if e.name == "validation"]
        if view.is_group or share < WORTH_SHARE or not passes:
            return None
        steps = max(event.detail.steps or 0 for event in passes)
        typical = sorted(event.dur for event in passes)[len(passes) // 2]
        cured = _one_pass(view) or _larger_batches(view, typical)
        if cured is None and share >= TOO_OFTEN_SHARE and steps > FEW_STEPS:
            text = f"fit(..., validation_freq={EVERY}), or fewer validation rows"
            cure = Cure(self.safety, text, validated_every(view, EVERY))
            cured = Interval.exact(1 / EVERY), cure
        if cured is None:
            return None
        left, cure = cured
        return self.finding(
            view,
            f"a validation pass takes {duration(typical)} in {steps} steps; "
            f"validation is {percent(share)} of the time",
            cure,
            saves={"validation": Interval.exact(spent).minus(left.scaled(spent))},
            evidence={
                "validation_share": round(share, 3),
                "pass_ns": typical,
                "validation_steps": steps,
                "passes": len(passes),
            },
        )


def _how_often(per_epoch: float) -> str:
    if per_epoch < 1:
        return f"every {1 / per_epoch:.0f} epochs"
    return "once in each epoch" if per_epoch < 1.5 else f"{per_epoch:.0f} times in each epoch"


def _one_pass(view: View) -> tuple[Interval, Cure] | None:
    """What one pass leaves of a validation that makes several."""
    found = view.found(ValidationPasses)
    if found is None or found.steps < SEVERAL_PASSES * found.batches:
        return None
    cure = Cure(
        "safe",
        f"fit(..., validation_steps={found.batches}): the validation data have {found.batches} "
        "batches, and are gone over again and again",
        at(
            line_of(view.recorded),
            SetKeyword,
            "fit",
            "validation_steps",
            str(found.batches),
            overrides=True,
        ),
    )
    return Interval.around(found.batches / found.steps, PASS_ERROR), cure


def _larger_batches(view: View, typical: float) -> tuple[Interval, Cure] | None:
    """What the batch size worth recommending leaves of a pass."""
    found = view.found(ValidationBatches)
    if found is None:
        return None
    best, least = 0, math.inf
    for size, ns in sorted((int(size), ns) for size, ns in found.ns.items()):
        if least > WORTH_LARGER * ns:
            best, least = size, ns
    if typical < WORTH_FASTER * least:
        return None
    return Interval.around(least / typical, PASS_ERROR), _in_batches_of(view, found, best)


def _in_batches_of(view: View, found: ValidationBatches, size: int) -> Cure:
    """Larger batches: an argument of `fit` for arrays, of its own call for a loader or pipeline."""
    if not found.loader:
        where = line_of(view.recorded)
        edits = at(where, SetKeyword, "fit", "validation_batch_size", str(size))
        return Cure("safe", f"fit(..., validation_batch_size={size})", edits)
    made = found.made
    text = f"validate in batches of {size}: make the validation data with batch_size={size}"
    if made is None or not made.file or _makes_training_data(view, made):
        return Cure("advice", text)
    position = LOADER_BATCH_SIZE if made.call == "DataLoader" else 0
    edits = at(place_of(made), SetKeyword, made.call, "batch_size", str(size), position)
    return Cure("safe", text, edits)


def _makes_training_data(view: View, made: CallLine) -> bool:
    """Whether the same line says how large a training batch is."""
    training: set[tuple[str | None, int | None]] = {(one.file, one.line) for one in view.stages}
    if view.input.made is not None:
        training.add((view.input.made.file, view.input.made.line))
    return (made.file, made.line) in training


RULE = HeavyValidation()
