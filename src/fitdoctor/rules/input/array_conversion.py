"""# array-conversion (IN009)

## What it finds
Every call of `fit`, or every epoch, converts the whole arrays again.

## Why it is slow
Keras copies arrays into the backend's own memory at the start of a call, and casts floats that
are not of its type (float64 to float32). For one long `fit` on TensorFlow that is paid once; in a
loop of short calls it is paid each time. On JAX and torch it is paid twice in every epoch, since
Keras makes a new iterator before and after each.

## Evidence
- converting these arrays was timed; with the number of times that Keras does it, it explains at
  least 30 % of the start of each call and of what lies between epochs;
- arrays of the right type are told of only where several calls of the same line copy them.

## Predicted gain
Where the arrays have to be cast: the difference of converting them as they are and cast before,
each time. Where that is less than half of what one call instead of many saves, or nothing has to be
cast: the start-up of all calls but one, most of what lies between them, and, where a call has fewer
than 50 steps, what its steps take longer than on a frozen batch.

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
of the samples (none with `shuffle=False`), and callbacks that count epochs see other numbers:
unsafe. It is written where the loop has nothing in it but the call, without callbacks.

## When not to
One call of `fit` on TensorFlow, or epochs of many steps: the conversion does not matter.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import CastBefore, Edit, OneFit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration, size

PAGE = __doc__ or ""

EXPLAINED_SHARE = 0.3
# One call instead of many leaves nothing of their start-up, but for its own.
ONE_START = 0.98
# What is left of a call's end between two epochs of one call is not known well.
ONE_END = 0.7
# Conversion is timed on a part of the arrays.
ERROR = 0.25
# A cast is the smaller change: it is the cure where it saves this share of what one call saves.
MOST_OF_IT = 0.5
# A call of fewer steps hardly gets past its beginning.
FEW_STEPS = 50
POSITIONS = {"x": 0, "y": 1}


class Plan(NamedTuple):
    """One way to be rid of the conversions: what it saves of which part, and how it is said."""

    saves: dict[str, Interval]
    summary: str
    safety: Safety
    edits: tuple[Edit, ...] = ()

    @property
    def saved(self) -> Interval:
        """Per step."""
        return sum(self.saves.values(), Interval.exact(0.0))

    def gain(self, view: View) -> Interval:
        """Of the whole step."""
        return gain(view.costs.total, self.saved)


class ArrayConversion:
    """IN009."""

    code = "IN009"
    name = "array-conversion"
    summary = "every call, or epoch, copies or casts the whole arrays again"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """What recurs with calls and epochs, and the arrays explain it."""
        measured = view.result("array_conversion")
        if not measured:
            return None
        start_up = _later_start_up(view)
        in_start, in_gaps = conversions(view, measured)
        casts = measured["cast_bytes"] > 0
        recurring = view.costs.parts.get("start_up", 0.0) if start_up else 0.0
        if casts and in_gaps:
            recurring += view.costs.parts.get("epoch_gap", 0.0)
        conversion = measured["as_is_ns"] * (in_start + in_gaps)
        if not recurring or conversion < EXPLAINED_SHARE * recurring:
            return None
        plans = [_cast_once(view, measured, in_start, in_gaps)] if casts else []
        if start_up:
            plans.append(_one_call(view, measured, casts=casts))
        if not plans:
            return None
        plan = _better(view, plans)
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=_message(view, measured, start_up, in_gaps),
            gain=plan.gain(view),
            cure=Cure(plan.safety, plan.summary, plan.edits),
            evidence={
                "start_up_ns": None if start_up is None else round(start_up),
                "conversion_ns": measured["as_is_ns"],
                "conversion_if_cast_ns": measured["cast_before_ns"],
                "conversions_per_epoch": measured.get("per_epoch", 0),
                "bytes": measured["bytes"],
                "calls": len(view.recorded.calls),
            },
            saves=plan.saves,
        )


def _later_start_up(view: View) -> float | None:
    """What a call takes before its first step; the first call of all also builds and compiles."""
    starts = [c.start_up for c in view.recorded.calls[1:] if c.start_up is not None]
    return statistics.median(starts) if starts and view.costs.parts.get("start_up") else None


def conversions(view: View, measured: dict[str, Any]) -> tuple[float, float]:
    """How often the arrays are converted, per step: at the start of calls, and between epochs."""
    calls, steps = view.recorded.calls, max(1, view.costs.steps)
    per_epoch = measured.get("per_epoch", 0)
    # The first conversion of a call is part of its start.
    between = sum(max(0, per_epoch * call.epochs - 1) for call in calls)
    return (len(calls) - 1) / steps, between / steps


def _cast_once(view: View, measured: dict[str, Any], in_start: float, in_gaps: float) -> Plan:
    each = max(0, measured["as_is_ns"] - measured["cast_before_ns"])
    saves = {
        part: _at_most(each * times, view.costs.parts.get(part, 0.0))
        for part, times in (("start_up", in_start), ("epoch_gap", in_gaps))
        if times and view.costs.parts.get(part)
    }
    summary = f'cast once before training: x = x.astype("{measured["floatx"]}")'
    return Plan(saves, summary, "safe", _casts(view, measured))


def _at_most(saved: float, part: float) -> Interval:
    """What the cure takes of a part, which keeps a little."""
    return Interval(
        min(saved, 0.97 * part),
        min(saved / (1 + ERROR), 0.97 * part),
        min(saved * (1 + ERROR), 0.99 * part),
    )


def _one_call(view: View, measured: dict[str, Any], *, casts: bool) -> Plan:
    """One call starts once, and ends only once: what is between its epochs is far less."""
    start_up, gap = (view.costs.parts.get(part, 0.0) for part in ("start_up", "epoch_gap"))
    if measured.get("per_epoch", 0):
        # Its epochs still convert, but no more than copies where they are cast before.
        each = measured["cast_before_ns"] if casts else measured["as_is_ns"]
        kept = each * conversions(view, measured)[1]
        most = max(0.0, gap - kept)
    else:
        most = gap
    saves = {
        "start_up": Interval(ONE_START, ONE_START / (1 + ERROR), ONE_START).scaled(start_up),
        "epoch_gap": Interval(most * ONE_END, 0.0, most * ONE_START),
        "step": _first_steps(view),
    }
    once = "call fit once with more epochs"
    if casts:
        summary = f'cast once (x.astype("{measured["floatx"]}")), and {once}'
    else:
        summary = f"{once}, or make one tf.data.Dataset before the loop"
    # The order of the samples is drawn once, and callbacks would count other epochs.
    return Plan(saves, summary, "unsafe", (*_casts(view, measured), *_merged(view)))


def _better(view: View, plans: Sequence[Plan]) -> Plan:
    """The first, which is the smaller change, where it gives most of what the other one gives."""
    first, *others = plans
    if not others:
        return first
    (other,) = others
    if first.saved.value < MOST_OF_IT * other.saved.value:
        return other
    more = other.gain(view).value
    return first._replace(summary=f"{first.summary}; one call of fit for all: {more:.1f}x")


def _message(view: View, measured: dict[str, Any], start_up: float | None, in_gaps: float) -> str:
    verb = "cast and copy" if measured["cast_bytes"] > 0 else "copy"
    arrays = f"{size(measured['bytes'])} of {'/'.join(measured['dtypes'])} arrays"
    if start_up is not None and not in_gaps:
        spent = duration(min(start_up, measured["as_is_ns"]))
        return (
            f"each call takes {duration(start_up)} before its first step, {spent} of it to "
            f"{verb} {arrays}"
        )
    return (
        f"Keras takes {duration(measured['as_is_ns'])} to {verb} {arrays}, "
        f"{measured['per_epoch']} times in every epoch"
    )


def _first_steps(view: View) -> Interval:
    """What steps take longer because each call begins anew, where a call has few of them.

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


def _merged(view: View) -> tuple[Edit, ...]:
    recorded = view.recorded
    if recorded.kind != "fit" or not recorded.file or not recorded.line:
        return ()
    return (OneFit(Where(recorded.file, recorded.line)),)


def _casts(view: View, measured: dict[str, Any]) -> tuple[Edit, ...]:
    """A cast of each array that needs one, before the loop of calls."""
    recorded = view.recorded
    if not recorded.file or not recorded.line:
        return ()
    where = Where(recorded.file, recorded.line)
    return tuple(
        CastBefore(where, recorded.kind, name, POSITIONS[name], str(measured["floatx"]))
        for name in measured.get("cast_arguments") or ()
    )


RULE = ArrayConversion()
