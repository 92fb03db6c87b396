"""A step divided until each piece has one owner: its parts, and the layers, lines, stages in them.

The leaves of a part sum to the part. What is known of none of them is a leaf of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fitdoctor.analysis.decompositions import is_decomposition
from fitdoctor.analysis.leaf import Leaf
from fitdoctor.analysis.leaves_beside import callback_leaves, input_leaves, own_code_leaves
from fitdoctor.analysis.loop_parts import OWN_CODE
from fitdoctor.analysis.step_rows import OPTIMIZER, REST, step_rows
from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.evidence.model import MachineCeiling, OptimizerUpdate
from fitdoctor.contract.evidence.operations import COPIES, KERNEL, Operations
from fitdoctor.contract.evidence.step import FrozenBatch, StepAlone
from fitdoctor.contract.limits import MANY_CALLS
from fitdoctor.contract.places import CodeLine

# Pieces below this share of their part are one leaf together.
SMALL_SHARE = 0.03
MOST_LEAVES = 12
STARTING = "between operations"
# A compiler or a library made them; the user's own code is in none.
UNKNOWN_KERNELS = "kernels of no known layer"
DEVICE_WAITS = "the GPU waits for its next kernel"
# The mark around each call of a layer, where a profile has it.
LAYER_CALL = "python"
# A layer that is called so often in one step is called on single rows or positions.
ROW_BY_ROW = 16
# Operations start up to this much more slowly in a step than one after another in a trial.
STARTS_AT_MOST = 5.0
# A loss and some metrics take less than this share of a step; more is not the ordinary rest.
ORDINARY_REST = 0.3
OUTSIDE_LAYERS = ", outside of every layer"
AROUND = "around the step"
WHOLE = "the training step"
OTHERS = "the rest"


def leaves_of(view: View, parts: Mapping[str, float]) -> tuple[Leaf, ...]:
    """All leaves; their sum is that of the parts."""
    dividers = {
        "step": _step,
        "input_wait": input_leaves,
        "callbacks": callback_leaves,
        OWN_CODE: own_code_leaves,
    }
    found: list[Leaf] = []
    for part, ns in parts.items():
        if ns > 0:
            pieces = dividers[part](view, ns) if part in dividers else []
            found += _summing(part, ns, pieces)
    return tuple(found)


def _summing(part: str, ns: float, pieces: Iterable[Leaf]) -> list[Leaf]:
    """The pieces, scaled or filled up to the part; small ones together."""
    known = sorted((one for one in pieces if one.ns > 0), key=lambda one: -one.ns)
    total = sum(one.ns for one in known)
    if not known or total <= 0:
        return [Leaf(part, part, ns, floor_ns=_floor(part))]
    if total > ns:
        known = [_scaled(one, ns / total) for one in known]
        total = ns
    large = [one for one in known if one.ns >= SMALL_SHARE * ns][:MOST_LEAVES]
    small = [one for one in known if one not in large]
    kernels = [one for one in small if one.is_kernel]
    others = [one for one in small if not one.is_kernel]
    spent = sum(one.ns for one in kernels)
    rest = ns - sum(one.ns for one in large) - spent
    found = list(large)
    if kernels:
        found.append(_together(part, spent, kernels))
    if rest > 0:
        found.append(_together(part, rest, others))
    return found


def _scaled(leaf: Leaf, factor: float) -> Leaf:
    """A piece that was timed alone may take longer than its share: so may its floor."""
    floor = None if leaf.floor_ns is None else leaf.floor_ns * min(1.0, factor)
    return replace(leaf, ns=leaf.ns * factor, floor_ns=floor)


def _together(part: str, ns: float, small: list[Leaf]) -> Leaf:
    floors = [one.floor_ns for one in small]
    known = [one for one in floors if one is not None]
    floor = min(ns, sum(known)) if small and len(known) == len(floors) else _floor(part)
    is_kernel = bool(small) and all(one.is_kernel for one in small)
    return Leaf(part, OTHERS, ns, floor_ns=floor, is_kernel=is_kernel)


def _floor(part: str) -> float | None:
    """Of a step nothing is known; whatever is around it may cost nothing at best."""
    return None if part in ("step", "unknown") else 0.0


# -- the step --------------------------------------------------------------------------


def _step(view: View, ns: float) -> list[Leaf]:
    """Layers, the optimizer, starting operations; in a loop also other framework calls."""
    frozen = view.frozen.value if view.frozen is not None else ns
    found = view.found(Operations)
    # What was profiled in the loop itself is all of the step; a step alone is what it took alone.
    inside = ns if found is not None and found.in_loop else min(ns, frozen)
    pieces = _by_operation(view, found, inside) if found is not None else _by_layer(view, inside)
    if not pieces:
        # Nothing is known of its inside: what was tried on the whole of it has to do, if it was.
        tried = (view.found(kind) for kind in (StepAlone, RepeatedCall, FrozenBatch))
        was_tried = view.recorded.kind != "loop" or any(one is not None for one in tried)
        pieces = [Leaf("step", WHOLE, inside, is_kernel=was_tried)]
    around = ns - inside
    return [*pieces, *_around(view, around)] if around > 0 else pieces


def _by_operation(view: View, found: Operations, ns: float) -> list[Leaf]:
    """What the profiler saw, as shares of the step without it."""
    # The profiler slows the host, not the GPU, whose times are those of any step.
    idle = max(0.0, ns - found.busy_ns) if found.on_device else _starting(view, found)
    whole = found.busy_ns + idle
    if whole <= 0:
        return []
    scale = ns / whole
    calls = _calls(view, found)
    by_layer: dict[tuple[str, bool], float] = {}
    most_calls: dict[tuple[str, bool], int] = {}
    decompositions: dict[str, float] = {}
    copies: dict[str, float] = {}
    outside = compiled = 0.0
    for row in found.rows:
        if row.op in COPIES:
            copies[row.op] = copies.get(row.op, 0.0) + row.ns * scale
            continue
        if row.within is None:
            if row.op.startswith(KERNEL):
                compiled += row.ns * scale
            elif is_decomposition(row.op):
                decompositions[row.op] = decompositions.get(row.op, 0.0) + row.ns * scale
            else:
                outside += row.ns * scale
            continue
        # Of a layer of the user's, what Keras's own layers in it do are kernels, unless it calls
        # them again and again on little.
        times = calls.get(row.layer, 1)
        is_kernel = row.layer in found.kernels and not _is_called_on_little(found, times)
        key = (row.within, is_kernel)
        by_layer[key] = by_layer.get(key, 0.0) + row.ns * scale
        most_calls[key] = max(times, most_calls.get(key, 1))
    pieces = [
        replace(
            _layer_leaf(view, key[0], time, is_kernel=key[1], times=_times(view, found, key[0])),
            calls=most_calls[key],
        )
        for key, time in by_layer.items()
    ]
    pieces += [Leaf("step", f"{op}{OUTSIDE_LAYERS}", time) for op, time in decompositions.items()]
    pieces.append(Leaf("step", UNKNOWN_KERNELS, compiled, is_kernel=True))
    update = view.timed(OptimizerUpdate)
    optimizer = min(outside, update.value) if update is not None else 0.0
    pieces.append(Leaf("step", OPTIMIZER, optimizer, is_kernel=True))
    pieces.append(_rest(outside - optimizer, ns))
    pieces += [Leaf("step", op, time, floor_ns=0.0) for op, time in copies.items()]
    waiting = DEVICE_WAITS if found.on_device else STARTING
    pieces.append(Leaf("step", waiting, idle * scale, floor_ns=0.0))
    return pieces


def _calls(view: View, found: Operations) -> dict[str | None, int]:
    """How often each layer is called in one step: of a loop, as its iterations were seen."""
    calls: dict[str | None, int] = {layer.name: layer.calls for layer in view.layers}
    for row in found.rows:
        # A layer that wraps another one calls it past its front door: its operations tell.
        # One operation may be many kernels.
        is_seen = row.op == LAYER_CALL or (row.count >= ROW_BY_ROW and not found.on_device)
        if is_seen and not row.backward:
            calls[row.layer] = max(calls.get(row.layer, 1), round(row.count))
    return calls


def _is_called_on_little(found: Operations, calls: int) -> bool:
    """Whether a layer is called again and again on parts of a batch.

    An iteration of a loop may go over many whole batches, to add their gradients up.
    """
    if found.in_loop and found.single_rows < ROW_BY_ROW:
        return calls >= ROW_BY_ROW
    return calls >= MANY_CALLS


def _times(view: View, found: Operations, name: str) -> float:
    """How often a loop's iteration does what one pass of the model does in this layer."""
    layer = view.layer(name)
    if not found.in_loop or layer is None:
        return 1.0
    seen = [row.count for row in found.rows if row.layer == name and row.op == LAYER_CALL]
    return max(1.0, max(seen, default=1.0) / max(1, layer.calls))


def _starting(view: View, found: Operations) -> float:
    """Time between operations, as far as starting them can take it.

    The rest of it was some operation's: a profiler does not see all that a library's threads do.
    """
    ceiling = view.found(MachineCeiling)
    if ceiling is None or not ceiling.op_start_ns:
        return found.idle_ns
    return min(found.idle_ns, STARTS_AT_MOST * found.count * ceiling.op_start_ns)


def _rest(ns: float, step_ns: float) -> Leaf:
    """Loss, metrics, and what the user's own step does: what it needs at least is not known."""
    return Leaf("step", REST, ns, is_kernel=ns < ORDINARY_REST * step_ns)


def _by_layer(view: View, ns: float) -> list[Leaf]:
    """Layers as they were timed alone."""
    rows = step_rows(view.recorded, view.frozen, view.timed(OptimizerUpdate))
    whole = sum(row.ns for row in rows)
    if whole <= 0:
        return []
    pieces = []
    for row in rows:
        if row.type:
            pieces.append(_layer_leaf(view, row.name, row.ns * ns / whole))
        else:
            spent = row.ns * ns / whole
            is_kernel = row.name == OPTIMIZER
            leaf = Leaf("step", row.name, spent, is_kernel=is_kernel)
            pieces.append(_rest(spent, ns) if row.name == REST else leaf)
    return pieces


def _layer_leaf(
    view: View, name: str, ns: float, *, is_kernel: bool | None = None, times: float = 1.0
) -> Leaf:
    layer = view.layer(name)
    if layer is None:
        return Leaf("step", name, ns, layer=name, is_kernel=bool(is_kernel))
    needed = layer.needed_ns(view.found(MachineCeiling))
    place = CodeLine(layer.file, layer.line) if layer.file and layer.line else None
    return Leaf(
        "step",
        f"{name} ({layer.type})",
        ns,
        place,
        None if needed is None else min(ns, times * needed),
        is_kernel=layer.is_kernel if is_kernel is None else is_kernel,
        layer=name,
    )


def _around(view: View, ns: float) -> list[Leaf]:
    """Framework calls outside of the step itself, by the user's line where that was seen."""
    watched = loop_lines(view.recorded)
    if watched is None:
        return [Leaf("step", AROUND, ns, floor_ns=0.0)]
    lines = watched.lines("reads")
    whole = sum(share for _, share in lines) or 1.0
    reads = min(ns, watched.reads * view.costs.total.value)
    pieces = [
        Leaf("step", f"reading {text}", reads * share / whole, CodeLine(file, line), 0.0)
        for (file, line, text, _), share in lines
    ]
    rest = ns - sum(one.ns for one in pieces)
    return [*pieces, Leaf("step", AROUND, max(0.0, rest), floor_ns=0.0)]
