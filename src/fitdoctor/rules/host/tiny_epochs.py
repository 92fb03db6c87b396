"""# tiny-epochs (HO003)

## What it finds
Epochs of a few steps: what Keras does once per epoch and per validation takes the time.

## Why it is slow
Each epoch has a fixed price, a new iterator, callbacks, the reading of metrics; each validation
pass another one, however small the validation set. Both are about 20 to 50 ms on TensorFlow. With
8 steps of 1 ms per epoch, training is a fraction of it.

## Evidence
- epochs of at most 50 steps, three or more of them seen;
- time per epoch outside the steps (between epochs, validation of a few batches, the start of a
  new `fit`) is 30 % or more of the whole.

## Predicted gain
Where each epoch is validated: a validation every 10 epochs. Otherwise: epochs of 50 steps.

## Example
```python
model.fit(x, y, batch_size=256, epochs=500, validation_data=(xv, yv))    # 1 step per epoch
```

## Use instead
```python
model.fit(x, y, batch_size=256, epochs=500, validation_data=(xv, yv), validation_freq=10)
model.fit(dataset.repeat(50), epochs=10, validation_data=(xv, yv))
```

## Fix safety
The weights stay the same. History, callbacks and learning-rate schedules by epoch become coarser,
so the cure is unsafe. A tf.data dataset is repeated by an edit where no callback of yours counts
epochs; arrays are not, since `fit` goes over them once in an epoch.

## When not to
- Validation takes long because of its size or its batch size: CB002.
- A callback of yours takes the time at each epoch's end.
"""

from __future__ import annotations

import statistics

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import LongerEpochs
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.rules.input.array_conversion import conversions
from fitdoctor.rules.support.places import validated_every
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

FEW_STEPS = 50
MIN_EPOCHS = 3
FIXED_SHARE = 0.3
# A validation pass of more batches than this costs what its batches cost: CB002.
FEW_VALIDATION_STEPS = 5
VALIDATION_EVERY = 10
# Validation below this share of the fixed cost is not what to save on.
VALIDATION_SHARE = 0.25
# Fewer passes in one epoch are not worth a change of the source.
LEAST_TIMES = 5
BUILT_IN_CALLBACKS = frozenset({"History", "ProgbarLogger"})
PRICE_ERROR = 0.15
ARRAYS_SHARE = 0.3


class TinyEpochs:
    """HO003."""

    code = "HO003"
    name = "tiny-epochs"
    summary = "what is done once per epoch takes longer than its few steps"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """Few steps per epoch, and most of the time outside them."""
        steps = view.steps_per_epoch
        epochs = sum(call.epochs for call in view.recorded.calls)
        if view.is_group or steps is None or steps > FEW_STEPS or epochs < MIN_EPOCHS:
            return None
        if _validation_steps(view) > FEW_VALIDATION_STEPS:
            return None
        fixed = fixed_costs(view)
        total = view.costs.total
        share = sum(fixed.values()) / total.value
        if share < FIXED_SHARE:
            return None
        validation = fixed.get("validation", 0.0)
        longer = 1 - max(1.0, steps) / FEW_STEPS
        if validation >= VALIDATION_SHARE * sum(fixed.values()):
            saves = {"validation": _about(validation * (1 - 1 / VALIDATION_EVERY))}
            all_saved = {name: _about(ns * longer) for name, ns in fixed.items()}
            further = gain(total, _sum(all_saved)).value
            cure = Cure(
                self.safety,
                f"validation_freq={VALIDATION_EVERY}; epochs of {FEW_STEPS} steps "
                f"(dataset.repeat, or steps_per_epoch) would give {further:.1f}x",
                validated_every(view, VALIDATION_EVERY),
            )
        else:
            saves = {name: _about(ns * longer) for name, ns in fixed.items()}
            cure = Cure(
                self.safety,
                f"longer epochs: dataset.repeat(…) or steps_per_epoch={FEW_STEPS} with as many "
                "fewer epochs; one fit instead of many",
                _fewer_epochs(view, steps),
            )
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"an epoch has {steps:.0f} steps of {duration(_step_of(view))}; beside them "
                f"{duration(sum(fixed.values()) * steps)} per epoch, {percent(share)} of the time"
            ),
            gain=gain(total, _sum(saves)),
            cure=cure,
            evidence={
                "steps_per_epoch": round(steps, 1),
                "epochs": epochs,
                "fixed_share": round(share, 3),
                "validation_ns_per_epoch": round(validation * steps),
            },
            saves=saves,
        )


def fixed_costs(view: View) -> dict[str, float]:
    """Nanoseconds per step that are paid per epoch or per call, not per step."""
    names = ["epoch_gap", "validation"]
    if not _starts_with_arrays(view):
        names.append("start_up")
    parts = view.parts
    fixed = {name: parts[name] for name in names if parts.get(name)}
    if "epoch_gap" in fixed:
        fixed["epoch_gap"] = max(0.0, fixed["epoch_gap"] - _cast_between(view))
    return fixed


def _step_of(view: View) -> float:
    """One step; where the host only enqueues (JAX), as long as the device takes."""
    if view.backend != "jax" or view.frozen is None:
        return view.core.value
    return max(view.core.value, min(view.frozen.value, view.costs.total.value))


def _cast_between(view: View) -> float:
    """What casting arrays takes between epochs, per step: longer epochs are not its cure."""
    measured = view.result("array_conversion")
    if not measured or not measured["cast_bytes"]:
        return 0.0
    each = max(0, measured["as_is_ns"] - measured["cast_before_ns"])
    return float(each * conversions(view, measured)[1])


def _starts_with_arrays(view: View) -> bool:
    """Whether copying or casting arrays explains the start of each call, which is IN009's."""
    measured = view.result("array_conversion")
    starts = [c.start_up for c in view.recorded.calls[1:] if c.start_up is not None]
    if not measured or not starts:
        return False
    return bool(measured["as_is_ns"] >= ARRAYS_SHARE * statistics.median(starts))


def _validation_steps(view: View) -> float:
    steps = [
        int(event.detail.get("steps") or 0)
        for event in view.recorded.events
        if event.name == "validation"
    ]
    return max(steps, default=0)


def _fewer_epochs(view: View, steps: float) -> tuple[LongerEpochs, ...]:
    """The dataset repeated within an epoch, where nothing of the user's counts epochs.

    Only by a divisor of the epochs: the training has as many steps as before.
    """
    recorded = view.recorded
    epochs = recorded.detail.get("epochs")
    watched = {total.name for total in recorded.callbacks} - BUILT_IN_CALLBACKS
    is_tf_data = view.input.get("kind") == "tf.data"
    if not recorded.file or not recorded.line or watched or not is_tf_data:
        return ()
    if not isinstance(epochs, int) or len(recorded.calls) != 1:
        return ()
    most = max(1, round(FEW_STEPS / max(1.0, steps)))
    times = max(number for number in range(1, most + 1) if epochs % number == 0)
    if times < LEAST_TIMES:
        return ()
    return (LongerEpochs(Where(recorded.file, recorded.line), times),)


def _about(ns: float) -> Interval:
    return Interval(ns, ns * (1 - PRICE_ERROR), ns)


def _sum(saves: dict[str, Interval]) -> Interval:
    total = Interval.exact(0.0)
    for saved in saves.values():
        total = total + saved
    return total


RULE = TinyEpochs()
