"""# heavy-validation (CB002)

## What it finds
Validation takes a large part of the training time: in batches that are too small, or too often.

## Why it is slow
`validation_batch_size` is the training's batch size unless given. Validation needs no gradients,
so its batches can be far larger; with tiny ones, each step is start-up. And validating a large set
after each short epoch costs more than the epoch.

## Evidence
- validation passes, measured one by one, are 8 % or more of the time;
- `validation_steps` goes over a dataset without an end twice or more; or the same pass in batches
  of 256 or 1024, tried on your own model and data, is faster; or validation is at least 30 % of the
  time.

## Predicted gain
One pass instead of several; the measured pass in larger batches; or a validation every 5 epochs.

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
differ in the last digits.
Validating less often changes what EarlyStopping, ReduceLROnPlateau and checkpoints see: unsafe.

## When not to
The pass is a few batches: its fixed cost is tiny-epochs' matter (HO003).
"""

from __future__ import annotations

from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.rules.support.places import validated_every
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

WORTH_SHARE = 0.08
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


class HeavyValidation:
    """CB002."""

    code = "CB002"
    name = "heavy-validation"
    summary = "validation takes a large part of the time"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """A large share of the time in validation, and a measured way to spend less."""
        spent = view.parts.get("validation", 0.0)
        total = view.costs.total
        share = spent / total.value
        passes = [e for e in view.recorded.events if e.name == "validation"]
        if view.is_group or share < WORTH_SHARE or not passes:
            return None
        steps = max(int(event.detail.get("steps") or 0) for event in passes)
        typical = sorted(event.dur for event in passes)[len(passes) // 2]
        again = _passes_again(view)
        best = _larger_batches(view, typical) if again is None else None
        if again is not None:
            batches, left = again
            cure = Cure(
                "safe",
                f"fit(..., validation_steps={batches}): the validation data have {batches} "
                "batches, and are gone over again and again",
                _edit(view, "validation_steps", batches, overrides=True),
            )
        elif best is not None:
            size, left = best
            cure = _in_batches_of(view, size)
        elif share >= TOO_OFTEN_SHARE and steps > FEW_STEPS:
            left = Interval.exact(1 / EVERY)
            cure = Cure(
                self.safety,
                f"fit(..., validation_freq={EVERY}), or fewer validation rows",
                validated_every(view, EVERY),
            )
        else:
            return None
        saved = Interval.exact(spent).minus(left.scaled(spent))
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"a validation pass takes {duration(typical)} in {steps} steps; "
                f"validation is {percent(share)} of the time"
            ),
            gain=gain(total, saved),
            cure=cure,
            evidence={
                "validation_share": round(share, 3),
                "pass_ns": typical,
                "validation_steps": steps,
                "passes": len(passes),
            },
            saves={"validation": saved},
        )


def _passes_again(view: View) -> tuple[int, Interval] | None:
    """The batches of one pass where a validation makes several, and what one leaves of it."""
    data = view.result("validation_passes")
    if not data or data["steps"] < SEVERAL_PASSES * data["batches"]:
        return None
    left = Interval.around(data["batches"] / data["steps"], PASS_ERROR)
    return data["batches"], left


def _in_batches_of(view: View, size: int) -> Cure:
    """Larger batches: an argument of `fit` for arrays, of its own call for a loader or pipeline."""
    data = view.result("validation_batches") or {}
    if not data.get("loader"):
        edits = _edit(view, "validation_batch_size", size)
        return Cure("safe", f"fit(..., validation_batch_size={size})", edits)
    made = data.get("made")
    text = f"validate in batches of {size}: make the validation data with batch_size={size}"
    if not made or not made.get("file") or _makes_training_data(view, made):
        return Cure("advice", text)
    where = Where(str(made["file"]), int(made["line"]))
    position = LOADER_BATCH_SIZE if made["call"] == "DataLoader" else 0
    edit = SetKeyword(where, str(made["call"]), "batch_size", str(size), position)
    return Cure("safe", text, (edit,))


def _makes_training_data(view: View, made: dict[str, Any]) -> bool:
    """Whether the same line says how large a training batch is."""
    place = (made["file"], made["line"])
    own = view.input.get("made") or {}
    training = {(own.get("file"), own.get("line"))}
    training |= {(stage.file, stage.line) for stage in view.stages}
    return place in training


def _larger_batches(view: View, typical: float) -> tuple[int, Interval] | None:
    """The batch size worth recommending, and what it leaves of a pass."""
    data = view.result("validation_batches")
    best: tuple[int, float] | None = None
    for size, ns in sorted((data or {"ns": {}})["ns"].items(), key=lambda item: int(item[0])):
        if best is None or best[1] > WORTH_LARGER * ns:
            best = (int(size), float(ns))
    if best is None or typical < WORTH_FASTER * best[1]:
        return None
    left = Interval.around(best[1] / typical, PASS_ERROR)
    return best[0], left


def _edit(
    view: View, keyword: str, value: int, *, overrides: bool = False
) -> tuple[SetKeyword, ...]:
    recorded = view.recorded
    if not recorded.file or not recorded.line:
        return ()
    where = Where(recorded.file, recorded.line)
    return (SetKeyword(where, "fit", keyword, str(value), overrides=overrides),)


RULE = HeavyValidation()
