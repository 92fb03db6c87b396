"""# array-conversion (IN009)

## What it finds
Every call of `fit` converts the whole arrays again before its first step.

## Why it is slow
Keras copies arrays into the backend's own memory at the start of a call, and casts floats that
are not of its type (float64 to float32). For one long `fit` that is paid once; in a loop of short
calls it is paid each time.

## Evidence
- several calls of the same line, with a start-up that is at least 5 % of the time;
- converting these arrays was timed, and explains at least 30 % of that start-up.

## Predicted gain
Where the arrays have to be cast: the difference of converting them as they are and cast before.
Otherwise: the start-up of all calls but one, most of what lies between them, and, where a call has
fewer than 50 steps, what its steps take longer than on a frozen batch.

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
Casting once gives the same numbers bit for bit. One call instead of many keeps the weights, too,
but callbacks that count epochs see other numbers.

## When not to
One call of `fit` with many steps: the conversion does not matter.
"""

from __future__ import annotations

import statistics
from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import CastBefore, Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.prediction.joint import gain
from fitdoctor.units import duration, size

PAGE = __doc__ or ""

EXPLAINED_SHARE = 0.3
# One call instead of many leaves nothing of their start-up, but for its own.
ONE_START = 0.98
# What is left of a call's end between two epochs of one call is not known well.
ONE_END = 0.7
# Conversion is timed on a part of the arrays.
ERROR = 0.25
# A call of fewer steps hardly gets past its beginning.
FEW_STEPS = 50
POSITIONS = {"x": 0, "y": 1}


class ArrayConversion:
    """IN009."""

    code = "IN009"
    name = "array-conversion"
    summary = "every call copies or casts the whole arrays again before its first step"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """Start-up recurs, and the arrays explain it."""
        measured = view.result("array_conversion")
        part = view.costs.parts.get("start_up", 0.0)
        starts = [c.start_up for c in view.recorded.calls[1:] if c.start_up is not None]
        if not measured or not part or not starts:
            return None
        start_up = statistics.median(starts)
        if measured["as_is_ns"] < EXPLAINED_SHARE * start_up:
            return None
        casts = measured["cast_bytes"] > 0
        share = _saved_share(measured, start_up, casts=casts)
        saved = Interval(share.value * part, share.low * part, share.high * part)
        saves = {"start_up": saved}
        if not casts:
            # One call also ends only once: what is between its epochs is far less.
            gap = view.costs.parts.get("epoch_gap", 0.0)
            saves["epoch_gap"] = Interval(gap * ONE_END, 0.0, gap * ONE_START)
            saves["step"] = _first_steps(view)
        total_saved = sum(saves.values(), Interval.exact(0.0))
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"each call takes {duration(start_up)} before its first step, "
                f"{duration(min(start_up, measured['as_is_ns']))} of it to "
                f"{'cast and copy' if casts else 'copy'} {size(measured['bytes'])} of "
                f"{'/'.join(measured['dtypes'])} arrays"
            ),
            gain=gain(view.costs.total, total_saved),
            cure=Cure("safe", _advice(measured, casts=casts), _edits(view, measured)),
            evidence={
                "start_up_ns": round(start_up),
                "conversion_ns": measured["as_is_ns"],
                "conversion_if_cast_ns": measured["cast_before_ns"],
                "bytes": measured["bytes"],
                "calls": len(view.recorded.calls),
            },
            saves=saves,
        )


def _saved_share(measured: dict[str, float], start_up: float, *, casts: bool) -> Interval:
    """The share of the start-up that the cure takes away; one call starts only once."""
    if not casts:
        return Interval(ONE_START, ONE_START / (1 + ERROR), ONE_START)
    saved = measured["as_is_ns"] - measured["cast_before_ns"]
    share = max(0.0, min(0.97, saved / start_up))
    return Interval(share, share / (1 + ERROR), min(0.99, share * (1 + ERROR)))


def _first_steps(view: View) -> Interval:
    """What steps take longer because each call begins anew, where a call has few of them.

    The threads of a new pipeline start, and the caches hold what was copied. A frozen step
    and its loading show what a step takes later on.
    """
    calls = max(1, len(view.recorded.calls))
    if view.frozen is None or view.costs.steps > FEW_STEPS * calls:
        return Interval.exact(0.0)
    settled = view.frozen.value + view.costs.parts.get("input_wait", 0.0)
    slower = max(0.0, view.core.value - settled)
    return Interval(slower, 0.0, slower)


def _advice(measured: dict[str, object], *, casts: bool) -> str:
    if casts:
        return f'cast once before training: x = x.astype("{measured["floatx"]}")'
    return "call fit once with more epochs, or make one tf.data.Dataset before the loop"


def _edits(view: View, measured: dict[str, Any]) -> tuple[Edit, ...]:
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
