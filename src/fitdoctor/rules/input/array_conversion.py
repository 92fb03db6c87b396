"""# array-conversion (IN009)

## What it finds
Every call of `fit`, or every epoch, converts the whole arrays again.

## Why it is slow
Keras copies arrays into the backend's own memory at the start of a call, and casts floats of
another type (float64 to float32). One long `fit` on TensorFlow does that once. A loop of short
calls does it every time. JAX and torch do it twice per epoch, because Keras makes a new iterator
before and after each. A compiled step of a hand-written loop copies its NumPy arguments in every
call.

## Evidence
- converting these arrays was timed; times the number of conversions, it explains at least
  ${CONVERTED_SHARE:percent} of the start of each call and of the time between epochs;
- or: a hand-written loop gives its compiled step the same large NumPy arrays in every call, and the
  step is ${WORTH_CHANGE:gain} faster with the arrays handed over once (measured in turns);
- arrays of the right type are reported only where several calls of the same line copy them.

## Predicted gain
In a hand-written loop: the measured step. If the arrays must be cast: the time to convert them as
they are minus the time to convert them already cast, for each conversion. If that is less than
${MOST_OF_IT:percent} of what one call instead of many saves, or nothing must be cast: the start-up
of all calls except one, plus most of the time between them. If a call has ${FEW_STEPS} steps or
fewer, the time of its steps above a step on a frozen batch is added.

## Example
```python
for epoch in range(20):
    model.fit(x64, y64, epochs=1)
```

## Use instead
```python
x, y = x64.astype("float32"), y64.astype("float32")
model.fit(x, y, epochs=20)                 # or one tf.data.Dataset, made once
```

## Fix safety
Casting once gives the same numbers bit for bit. One call instead of many draws another random order
of the samples (not with `shuffle=False`), and callbacks that count epochs see other numbers:
unsafe. `fix` writes it if the loop contains only the call, without callbacks.

## When not to
One call of `fit` on TensorFlow, or epochs of many steps: the conversion does not matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import ArrayConversion as Converted
from fitdoctor.contract.evidence.loop import PlacedArguments
from fitdoctor.findings.edits import CastBefore, Edit, OneFit
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.array_conversion import conversions, later_start_up
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at
from fitdoctor.units import duration, size

# Converting the arrays takes at least this share of what recurs with calls and epochs.
CONVERTED_SHARE = 0.3
# One call instead of many leaves nothing of their start-up, except for its own.
ONE_START = 0.98
# What is left of a call's end between two epochs of one call is not known well.
ONE_END = 0.7
# Conversion is timed on a part of the arrays.
ERROR = 0.25
# A cast takes this share of a part of the step at most (likely, at best).
LIKELY_MOST, MOST = 0.97, 0.99
# A cast is the smaller change: it is the cure where it saves this share of what one call saves.
MOST_OF_IT = 0.5
# A call of so few steps hardly gets past its beginning.
FEW_STEPS = 50
POSITIONS = {"x": 0, "y": 1}
HAND_OVER = {"jax": "x = jax.device_put(x)", "tensorflow": "x = tf.constant(x)"}


class Plan(NamedTuple):
    """One way to avoid the conversions, and what it saves of which part."""

    saves: dict[str, Interval]
    cure: Cure

    @property
    def saved(self) -> Interval:
        return sum(self.saves.values(), Interval.exact(0.0))


class ArrayConversion(Rule):
    summary = "every call, or epoch, copies or casts the whole arrays again"
    safety = "safe"

    def _given_again(self, view: View) -> Finding | None:
        """A loop's compiled step gets the same NumPy arrays in every call."""
        placed = view.found(PlacedArguments)
        tried = tried_change(view, view.left_by(PlacedArguments), WORTH_CHANGE)
        if placed is None or tried is None:
            return None
        return self.finding(
            view,
            f"every call of the step is given the same NumPy data ({size(placed.bytes)}: "
            f"{', '.join(placed.shapes)}) and copies it: "
            + tried.in_words("as it is", "with tensors"),
            Cure("safe", f"convert the data once, before the loop: {HAND_OVER[view.backend]}"),
            saves=tried.saves,
            evidence={**tried.evidence("placed_ns"), "bytes": placed.bytes},
            how="tried",
        )

    def detect(self, view: View) -> Finding | None:
        """What recurs with calls and epochs, and the arrays explain it."""
        measured = view.found(Converted)
        if measured is None:
            return self._given_again(view)
        start_up = later_start_up(view)
        in_start, in_gaps = conversions(view, measured)
        casts = measured.cast_bytes > 0
        recurring = view.costs.parts.get("start_up", 0.0) if start_up else 0.0
        if casts and in_gaps:
            recurring += view.costs.parts.get("epoch_gap", 0.0)
        conversion = measured.as_is_ns * (in_start + in_gaps)
        if not recurring or conversion < CONVERTED_SHARE * recurring:
            return None
        cast = _cast_once(view, measured, in_start, in_gaps) if casts else None
        plan = _better(view, cast, _one_call(view, measured, in_gaps) if start_up else None)
        if plan is None:
            return None
        return self.finding(
            view,
            _message(measured, start_up, in_gaps),
            plan.cure,
            saves=plan.saves,
            evidence={
                "start_up_ns": None if start_up is None else round(start_up),
                "conversion_ns": measured.as_is_ns,
                "conversion_if_cast_ns": measured.cast_before_ns,
                "conversions_per_epoch": measured.per_epoch,
                "bytes": measured.bytes,
                "calls": len(view.recorded.calls),
            },
        )


def _cast_once(view: View, measured: Converted, in_start: float, in_gaps: float) -> Plan:
    each = max(0, measured.as_is_ns - measured.cast_before_ns)
    saves = {
        part: _at_most(each * times, view.costs.parts.get(part, 0.0))
        for part, times in (("start_up", in_start), ("epoch_gap", in_gaps))
        if times and view.costs.parts.get(part)
    }
    summary = f'cast once before training: x = x.astype("{measured.floatx}")'
    return Plan(saves, Cure("safe", summary, _casts(view, measured)))


def _at_most(saved: float, part: float) -> Interval:
    """What the cure takes of a part, which keeps a little."""
    return Interval(
        min(saved, LIKELY_MOST * part),
        min(saved / (1 + ERROR), LIKELY_MOST * part),
        min(saved * (1 + ERROR), MOST * part),
    )


def _one_call(view: View, measured: Converted, in_gaps: float) -> Plan:
    """One call starts once, and ends only once: what is between its epochs is far less."""
    casts = measured.cast_bytes > 0
    start_up, gap = (view.costs.parts.get(part, 0.0) for part in ("start_up", "epoch_gap"))
    # On some backends its epochs still convert, which is only a copy where it was cast before.
    each = measured.cast_before_ns if casts else measured.as_is_ns
    most = max(0.0, gap - each * in_gaps)
    saves = {
        "start_up": Interval(ONE_START, ONE_START / (1 + ERROR), ONE_START).scaled(start_up),
        "epoch_gap": Interval(most * ONE_END, 0.0, most * ONE_START),
        "step": _first_steps(view),
    }
    once = "call fit once with more epochs"
    if casts:
        summary = f'cast once (x.astype("{measured.floatx}")), and {once}'
    else:
        summary = f"{once}, or make one tf.data.Dataset before the loop"
    # The order of the samples is drawn once, and callbacks would count other epochs.
    merged = at(line_of(view.recorded), OneFit) if view.recorded.kind == "fit" else ()
    return Plan(saves, Cure("unsafe", summary, (*_casts(view, measured), *merged)))


def _better(view: View, cast: Plan | None, one_call: Plan | None) -> Plan | None:
    """The cast, which is the smaller change, where it gives most of what one call gives."""
    if cast is None or one_call is None:
        return cast or one_call
    if cast.saved.value < MOST_OF_IT * one_call.saved.value:
        return one_call
    more = gain(view.costs.total, one_call.saved).value
    summary = f"{cast.cure.summary}; one call of fit for all: {more:.1f}x"
    return cast._replace(cure=replace(cast.cure, summary=summary))


def _message(measured: Converted, start_up: float | None, in_gaps: float) -> str:
    verb = "cast and copy" if measured.cast_bytes > 0 else "copy"
    arrays = f"{size(measured.bytes)} of {'/'.join(measured.dtypes)} arrays"
    if start_up is not None and not in_gaps:
        spent = duration(min(start_up, measured.as_is_ns))
        return (
            f"each call takes {duration(start_up)} before its first step, {spent} of it to "
            f"{verb} {arrays}"
        )
    return (
        f"Keras takes {duration(measured.as_is_ns)} to {verb} {arrays}, "
        f"{measured.per_epoch} times in every epoch"
    )


def _first_steps(view: View) -> Interval:
    """What steps take longer at the beginning of a call, where a call has few of them.

    The threads of a new tf.data pipeline start, and the caches hold what was copied. A frozen
    step and its loading show what a step takes later on.
    """
    calls = max(1, len(view.recorded.calls))
    alone = view.frozen_in_loop or view.frozen
    if alone is None or view.backend != "tensorflow" or view.costs.steps > FEW_STEPS * calls:
        return Interval.exact(0.0)
    settled = alone.value + view.costs.parts.get("input_wait", 0.0)
    slower = max(0.0, view.core.value - settled)
    return Interval(slower, 0.0, slower)


def _casts(view: View, measured: Converted) -> tuple[Edit, ...]:
    """A cast of each array that needs one, before the loop of calls."""
    where = line_of(view.recorded)
    return tuple(
        edit
        for name in measured.cast_arguments
        if name in POSITIONS
        for edit in at(
            where, CastBefore, view.recorded.kind, name, POSITIONS[name], measured.floatx
        )
    )


RULE = ArrayConversion()
