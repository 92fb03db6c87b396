"""How often a step goes back through its layers for every time that it goes forward.

Once is training. More often, the gradients of several losses are computed one after another, each
through the same layers, where the gradient of their sum is one pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fitdoctor.contract.evidence.operations import Operations, OperationTime

# Matrix products and convolutions, whatever a library puts around their names: their gradient is
# two of their kind, by the input and by the weights.
_PRODUCT = re.compile(r"conv(?!ert)|matmul|einsum|(?:^|_)dot|(?:^|_|add|b)mm(?:$|_)")
OF_EACH = 2.0
# One operation may be done on parts of a batch, or come from the penalty on a gradient.
SURELY_SEVERAL = 2.5


@dataclass(frozen=True)
class GradientPasses:
    """Layers that are gone back through several times."""

    passes: float  # per forward pass; of the layers together, by their time
    backward_ns: float  # of all passes, per profiled step
    layers: int

    @property
    def needless_ns(self) -> float:
        """All but one pass."""
        return self.backward_ns * (1.0 - 1.0 / self.passes)


def gradient_passes(seen: Operations) -> GradientPasses | None:
    """None where every layer is gone back through about once."""
    if seen.on_device:
        return None  # one product may be several kernels
    by_layer: dict[str, list[OperationTime]] = {}
    for row in seen.rows:
        if row.layer is not None:
            by_layer.setdefault(row.layer, []).append(row)
    found = [one for rows in by_layer.values() if (one := _of_layer(rows)) is not None]
    total = sum(ns for _, ns in found)
    if not found or total <= 0:
        return None
    passes = sum(several * ns for several, ns in found) / total
    return GradientPasses(passes, total, len(found))


def _of_layer(rows: list[OperationTime]) -> tuple[float, float] | None:
    """Passes, and the time of all its gradients."""
    products = [row for row in rows if _is_product(row.op)]
    forward = sum(row.count for row in products if not row.backward)
    backward = sum(row.count for row in products if row.backward)
    if forward <= 0 or backward < SURELY_SEVERAL * OF_EACH * forward:
        return None
    return backward / (OF_EACH * forward), sum(row.ns for row in rows if row.backward)


def _is_product(op: str) -> bool:
    return _PRODUCT.search(op.lower()) is not None
