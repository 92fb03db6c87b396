"""Output of a pipeline's stage that is kept: whether it is read again, and its size."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.pipeline import KeptOutput

# One epoch that reads its data this often has most of it twice.
SECOND_PASS = 1.5


def is_read_again(view: View, kept: KeptOutput) -> bool:
    """Whether there is a second pass, also where `repeat` makes one epoch of many."""
    if view.passes is None or view.passes > 1:
        return True
    steps = view.steps_per_epoch
    if kept.elements is None or steps is None or not any(s.op == "repeat" for s in view.stages):
        return False
    return steps * kept.per_batch > SECOND_PASS * kept.elements


def kept_bytes(view: View, kept: KeptOutput) -> int | None:
    """Bytes of the whole output; None where an element's size or count is unknown."""
    count: float | None = kept.elements
    if count is None and view.steps_per_epoch is not None:
        count = view.steps_per_epoch * kept.per_batch
    return (
        None if kept.element_bytes is None or count is None else round(kept.element_bytes * count)
    )
