"""How often Keras converts whole arrays, and what a call takes before its first step."""

from __future__ import annotations

import statistics

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import ArrayConversion


def conversions(view: View, measured: ArrayConversion) -> tuple[float, float]:
    """How often the arrays are converted, per step: at the start of calls, and between epochs."""
    calls, steps = view.recorded.calls, max(1, view.costs.steps)
    # The first conversion of a call is part of its start.
    between = sum(max(0, measured.per_epoch * call.epochs - 1) for call in calls)
    return (len(calls) - 1) / steps, between / steps


def later_start_up(view: View) -> float | None:
    """What a call takes before its first step; the first call of all also builds and compiles."""
    starts = [call.start_up for call in view.recorded.calls[1:] if call.start_up is not None]
    return statistics.median(starts) if starts and view.costs.parts.get("start_up") else None
