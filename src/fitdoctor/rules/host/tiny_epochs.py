"""# tiny-epochs (HO003)

## What it finds
Epochs of a few steps: Keras's fixed work per epoch and per validation takes the time.

## Why it is slow
Each epoch has a fixed cost: a new iterator, callbacks, reading metrics. Each validation pass has
another one, however small the validation set. Both are about 20 to 50 ms on TensorFlow. With 8
steps of 1 ms per epoch, training takes a fraction of that.

## Evidence
- at least ${MIN_EPOCHS} epochs of at most ${FEW_STEPS} steps each;
- or: a hand-written loop makes a new iterator of its loader for every step, and the step and a
  batch of the loader, both measured alone, leave ${FIXED_SHARE:percent} of the time or more;
- time per epoch outside the steps (between epochs, validation of at most ${FEW_VALIDATION_STEPS}
  batches, the start of a new `fit`) is ${FIXED_SHARE:percent} or more of the whole.

## Predicted gain
Epochs of ${FEW_STEPS} steps; in a loop, the step and a batch alone. If validation is
${VALIDATION_SHARE:percent} or more of that time, a second cure with its own gain validates every
${VALIDATION_EVERY} epochs.

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
so the cure is unsafe. `fix` repeats a tf.data dataset if none of your callbacks counts epochs. It
does not repeat arrays, because `fit` reads them once per epoch.

## When not to
- Validation is slow because of its size or its batch size: CB002.
- Your own callback takes the time at each epoch's end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fitdoctor.analysis.costs import BUILT_IN_CALLBACKS
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import ArrayConversion
from fitdoctor.findings.edits import Edit, LongerEpochs
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.array_conversion import conversions, later_start_up
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, validated_every
from fitdoctor.units import duration, percent

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
COST_ERROR = 0.15
# A loop with fewer steps in a pass over its loader begins it for nearly every step.
STEPS_OF_A_PASS = 1.5
# Arrays that take this share of the start of a call explain it.
ARRAYS_SHARE = 0.3


class TinyEpochs(Rule):
    summary = "what is done once per epoch takes longer than its few steps"
    safety = "unsafe"
    # Processes that start and end with every epoch are what lies between epochs.
    explained_by = frozenset({"IN008"})

    def detect(self, view: View) -> Finding | None:
        """Few steps per epoch, and most of the time outside them."""
        return self._begun_again(view) or self._few_steps(view)

    def _begun_again(self, view: View) -> Finding | None:
        """A loop that makes a new iterator of its loader for every step."""
        passes = len({block.epoch for block in view.recorded.blocks})
        is_begun_again = passes >= MIN_EPOCHS and view.costs.steps < STEPS_OF_A_PASS * passes
        loader, total = view.loader, view.costs.total
        if view.recorded.kind != "loop" or not is_begun_again:
            return None
        if loader is None or view.frozen is None:
            return None
        left = view.frozen + loader.ns
        lost = total.value - left.value
        if lost < FIXED_SHARE * total.value:
            return None
        waited = min(lost, view.parts.get("input_wait", 0.0))
        return self.finding(
            view,
            f"the loader is begun from scratch for every step, which takes {duration(lost)} of "
            f"{duration(total.value)}; read on, its batches take {duration(loader.ns.value)} each",
            Cure(
                self.safety,
                "make the iterator once, before the loop: batches = iter(dataset), then "
                "next(batches)",
            ),
            saves={"input_wait": _about(waited), "step": _about(lost - waited)},
            where=place_of(view.recorded),
            evidence={"passes": passes, "steps": view.costs.steps, "lost_ns": round(lost)},
        )

    def _few_steps(self, view: View) -> Finding | None:
        steps = view.steps_per_epoch
        epochs = sum(call.epochs for call in view.recorded.calls)
        if view.is_group or steps is None or steps > FEW_STEPS or epochs < MIN_EPOCHS:
            return None
        passes = [e.detail.steps or 0 for e in view.recorded.events if e.name == "validation"]
        if max(passes, default=0) > FEW_VALIDATION_STEPS:
            return None
        fixed = _fixed_costs(view)
        share = sum(fixed.values()) / view.costs.total.value
        if share < FIXED_SHARE:
            return None
        step = view.core.value
        if view.backend == "jax" and view.frozen is not None:  # the host only enqueues
            step = max(step, min(view.frozen.value, view.costs.total.value))
        ways = [
            self.finding(
                view,
                f"an epoch has {steps:.0f} steps of {duration(step)}; beside them "
                f"{duration(sum(fixed.values()) * steps)} per epoch, {percent(share)} of the time",
                cure,
                saves=saves,
                evidence={
                    "steps_per_epoch": round(steps, 1),
                    "epochs": epochs,
                    "fixed_share": round(share, 3),
                    "validation_ns_per_epoch": round(fixed.get("validation", 0.0) * steps),
                },
            )
            for saves, cure in self._cures(view, fixed, steps)
        ]
        best, *others = sorted(ways, key=lambda one: -one.gain.value)
        return replace(best, also=tuple(others))

    def _cures(
        self, view: View, fixed: Mapping[str, float], steps: float
    ) -> Iterator[tuple[dict[str, Interval], Cure]]:
        """Longer epochs, and rarer validation where that is much of it: what each saves."""
        share = 1 - max(1.0, steps) / FEW_STEPS
        longer = Cure(
            self.safety,
            f"longer epochs: dataset.repeat(…) or steps_per_epoch={FEW_STEPS} with as many "
            "fewer epochs; one fit instead of many",
            _fewer_epochs(view, steps),
        )
        yield {name: _about(ns * share) for name, ns in fixed.items()}, longer
        validation = fixed.get("validation", 0.0)
        if validation >= VALIDATION_SHARE * sum(fixed.values()):
            edits = validated_every(view, VALIDATION_EVERY)
            rarer = Cure(self.safety, f"validation_freq={VALIDATION_EVERY}", edits)
            yield {"validation": _about(validation * (1 - 1 / VALIDATION_EVERY))}, rarer


def _fixed_costs(view: View) -> dict[str, float]:
    """Nanoseconds per step that are paid per epoch or per call, not per step."""
    names = ["epoch_gap", "validation"]
    if not _starts_with_arrays(view):
        names.append("start_up")
    parts = view.parts
    fixed = {name: parts[name] for name in names if parts.get(name)}
    if "epoch_gap" in fixed:
        fixed["epoch_gap"] = max(0.0, fixed["epoch_gap"] - _cast_between(view))
    return fixed


def _cast_between(view: View) -> float:
    """What casting arrays takes between epochs, per step: longer epochs are not its cure."""
    measured = view.found(ArrayConversion)
    if measured is None or not measured.cast_bytes:
        return 0.0
    each = max(0, measured.as_is_ns - measured.cast_before_ns)
    return each * conversions(view, measured)[1]


def _starts_with_arrays(view: View) -> bool:
    """Whether copying or casting arrays explains the start of each call, which is IN009's."""
    measured, start_up = view.found(ArrayConversion), later_start_up(view)
    if measured is None or start_up is None:
        return False
    return measured.as_is_ns >= ARRAYS_SHARE * start_up


def _fewer_epochs(view: View, steps: float) -> tuple[Edit, ...]:
    """The dataset repeated within an epoch, where nothing of the user's counts epochs.

    Only by a divisor of the epochs: the training has as many steps as before.
    """
    recorded = view.recorded
    epochs = recorded.detail.epochs
    watched = {total.name for total in recorded.callbacks} - BUILT_IN_CALLBACKS
    if watched or view.input.kind != "tf.data":
        return ()
    if epochs is None or len(recorded.calls) != 1:
        return ()
    most = max(1, round(FEW_STEPS / max(1.0, steps)))
    times = max(number for number in range(1, most + 1) if epochs % number == 0)
    return at(line_of(recorded), LongerEpochs, times) if times >= LEAST_TIMES else ()


def _about(ns: float) -> Interval:
    return Interval(ns, ns * (1 - COST_ERROR), ns)


RULE = TinyEpochs()
