"""Where a step's time goes, part by part; what the loader adds to the step is a part of its own."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.diagnosed import Part
from fitdoctor.pricing.loading import input_is_slow

# A step this much longer than on a frozen batch, where input is slow, suffers from contention.
CONTENTION_SHARE = 0.3


def breakdown(view: View) -> tuple[Part, ...]:
    """The parts, the largest first; they sum to the step, and the rest is called unknown."""
    total = view.costs.total.value or 1.0
    rows = [
        Part(name, value, value / total)
        for name, value in parts_with_contention(view).items()
        if value > 0 or name == "input_wait"
    ]
    rows.sort(key=lambda part: (part.part == "unknown", -part.ns_per_step))
    return tuple(rows)


def parts_with_contention(view: View) -> dict[str, float]:
    """The parts; where a step takes far longer beside the loader than on a frozen batch, apart.

    Loader threads take the interpreter's lock and the cores that the step needs.
    """
    parts = view.parts
    if view.frozen is None or view.is_group or view.backend == "jax":
        return parts
    frozen = view.frozen.value
    excess = parts.get("step", 0.0) - frozen
    if not input_is_slow(view) or excess < CONTENTION_SHARE * frozen:
        return parts
    return {**parts, "step": frozen, "loader_contention": excess}
