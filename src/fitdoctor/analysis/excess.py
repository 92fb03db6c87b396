"""What a step takes above what its arithmetic needs, by what it goes into."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.leaf import Leaf
from fitdoctor.analysis.leaves import OUTSIDE_LAYERS, ROW_BY_ROW, leaves_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.contract.evidence.operations import Operations

# A layer of the user's own that reaches more than this of the machine's rate is well written.
FAR_BELOW = 0.1


@dataclass(frozen=True)
class Excess:
    """Time of a step above what it needs."""

    starting_ns: float
    slow_layers: tuple[Leaf, ...]
    decompositions: tuple[Leaf, ...] = ()

    @property
    def layers_ns(self) -> float:
        return sum(one.ns - _needed(one) for one in self.slow_layers)

    @property
    def ns(self) -> float:
        """Operations of slow layers are started too: the larger of the two counts once."""
        return max(self.starting_ns, self.layers_ns, self.decompositions_ns)

    @property
    def decompositions_ns(self) -> float:
        return sum(one.ns for one in self.decompositions)


def excess_of(view: View, seen: Operations) -> Excess:
    """What the step takes beyond its needs."""
    step = view.parts.get("step", 0.0)
    alone = min(step, view.frozen.value) if view.frozen is not None else step
    inside = step if seen.in_loop else alone
    ceiling = view.found(MachineCeiling)
    start = ceiling.op_start_ns if ceiling is not None and ceiling.op_start_ns else 0.0
    leaves = leaves_of(view, {"step": inside}) if inside > 0 else ()
    slow = tuple(one for one in leaves if _is_slow(one, seen))
    outside = tuple(one for one in leaves if one.what.endswith(OUTSIDE_LAYERS))
    starting = seen.starting_ns(inside) if seen.on_device else min(inside, seen.count * start)
    return Excess(starting, slow, outside)


def _is_slow(leaf: Leaf, seen: Operations) -> bool:
    if leaf.is_kernel or leaf.layer is None:
        return False
    if leaf.floor_ns is None:
        # An iteration of a loop may go over many whole batches.
        on_rows = not seen.in_loop or seen.single_rows >= ROW_BY_ROW
        return leaf.calls >= ROW_BY_ROW and on_rows
    return leaf.floor_ns < FAR_BELOW * leaf.ns


def _needed(leaf: Leaf) -> float:
    """What the layer needs at least: where its arithmetic is not known, one of its calls."""
    return leaf.ns / leaf.calls if leaf.floor_ns is None else leaf.floor_ns
