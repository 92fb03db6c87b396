"""What the user's own loss takes above what any loss of such outputs would need."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import MachineCeiling, PlainLoss

# A well-written loss goes over its outputs about ten times forward and ten times back (a softmax
# with its cross-entropy, in operations of their own), reading and writing each time.
PASSES = 40


@dataclass(frozen=True)
class OwnLoss:
    """Nanoseconds of a step on the frozen batch."""

    took: PlainLoss
    ns: float
    needed_ns: float

    @property
    def excess_ns(self) -> float:
        return max(0.0, self.ns - self.needed_ns)


def own_loss(view: View) -> OwnLoss | None:
    """None where the loss is Keras's own, or was not tried."""
    tried, left = view.found(PlainLoss), view.left_by(PlainLoss)
    ceiling = view.found(MachineCeiling)
    if tried is None or left is None or view.frozen is None or ceiling is None:
        return None
    # The likely end that saves least: a step in noise has no costly loss.
    ns = max(0.0, 1.0 - left.high) * view.frozen.value
    return OwnLoss(tried, ns, PASSES * tried.output_bytes / ceiling.bytes_per_s * 1e9)
