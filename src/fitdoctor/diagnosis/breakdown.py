"""Where a step's time goes, part by part, as the device sees it."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.diagnosed import Part
from fitdoctor.pricing.loading import input_is_slow

# A step this much longer than on a frozen batch, where input is slow, is held up by loading.
CONTENTION_SHARE = 0.3


def breakdown(view: View) -> tuple[Part, ...]:
    """The parts, the largest first; they sum to the step, and the rest is called unknown."""
    total = view.costs.total.value or 1.0
    parts = as_the_device_sees_it(view)
    rows = [
        Part(name, value, value / total)
        for name, value in parts.items()
        if value > 0 or name == "input_wait"
    ]
    rows.sort(key=lambda part: (part.part == "unknown", -part.ns_per_step))
    return tuple(rows)


def curable_parts(view: View, by_input: float = 0.0) -> dict[str, float]:
    """What each part has to give; what the loader holds up goes with the wait for it.

    Args:
        view: the workload.
        by_input: what a cure of the input saves. Where that is more than the wait, the rest is
            the first batch of each epoch, which is waited for between epochs.
    """
    parts = as_the_device_sees_it(view)
    waiting = parts.get("input_wait", 0.0) + parts.pop("loader_contention", 0.0)
    first = min(parts.get("epoch_gap", 0.0), max(0.0, by_input - waiting))
    parts["epoch_gap"] = parts.get("epoch_gap", 0.0) - first
    return {**parts, "input_wait": waiting + first}


def as_the_device_sees_it(view: View) -> dict[str, float]:
    """The parts, with what the loader adds to a step apart."""
    parts = view.parts
    if view.frozen is None or view.is_group or view.backend == "jax":
        return parts
    return _with_contention(view, parts, view.frozen.value)


def _with_contention(view: View, parts: dict[str, float], frozen: float) -> dict[str, float]:
    """A step that takes far longer beside the loader than on a frozen batch is held up by it.

    Loader threads take the interpreter's lock and the cores that the step needs.
    """
    excess = parts.get("step", 0.0) - frozen
    if not input_is_slow(view) or excess < CONTENTION_SHARE * frozen:
        return parts
    return {**parts, "step": frozen, "loader_contention": excess}
