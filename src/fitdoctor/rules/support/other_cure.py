"""The same cause with another cure: what an edit can do where the whole cure is advice."""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain


def with_cure(view: View, found: Finding, cure: Cure, saved: Interval) -> Finding:
    """The finding with another cure of the input, and what that one saves per step."""
    predicted = gain(view.costs.total, saved)
    return replace(found, gain=predicted, cure=cure, saves={"input_wait": saved})
