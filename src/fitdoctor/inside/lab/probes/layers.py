"""Cost by layer on the frozen batch: the forward pass of all, the whole step of the costly."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.lab.apparatus import arithmetic
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.models.layer_step import layer_step

REPEATS = 5
MAX_ROWS = 64
# Layers with at least this share of the forward pass are timed alone, backward too.
ALONE_SHARE = 0.08
ALONE_LAYERS = 5
ALONE_SECONDS = 0.4
# Settings of a layer that decide how it is computed.
TELLING = (
    "units",
    "filters",
    "groups",
    "unroll",
    "recurrent_dropout",
    "input_dim",
    "output_dim",
    "mask_zero",
)


class LayerTimer:
    """Times every `Layer.__call__` and takes the time of inner layers off the outer one's."""

    def __init__(self, backend: Backend) -> None:
        """Nothing is patched yet."""
        self._backend = backend
        self._children: list[int] = []
        self.own_ns: dict[int, list[int]] = {}
        self.layers: dict[int, Any] = {}
        self.first: int | None = None
        self.inputs: dict[int, Any] = {}
        self.outputs: dict[int, Any] = {}
        self._around: list[Any] = []
        self.inside: dict[int, str | None] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch Keras's base layer for the length of the forward passes."""
        patches = Patches()
        patches.replace(sys.modules["keras"].layers.Layer, "__call__", self._timed)
        try:
            yield
        finally:
            patches.undo()

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            self._children.append(0)
            # Models only hold layers; a layer that holds others is timed with them.
            holders = [one for one in self._around if not getattr(one, "layers", None)]
            self.inside[id(layer)] = str(holders[0].name) if holders else None
            self._around.append(layer)
            begin = time.perf_counter_ns()
            try:
                result = original(layer, *args, **kwargs)
                self._backend.wait_for(result)
            finally:
                self._around.pop()
            total = time.perf_counter_ns() - begin
            inner = self._children.pop()
            if self._children:
                self._children[-1] += total
            if self.first is None and not getattr(layer, "layers", None) and inner == 0:
                self.first = id(layer)
            self.layers[id(layer)] = layer
            self.inputs[id(layer)] = args
            self.outputs[id(layer)] = result
            self.own_ns.setdefault(id(layer), []).append(total - inner)
            return result

        return __call__


@dataclass(frozen=True)
class Forward:
    """One layer in a forward pass."""

    layer: Any
    ns: int
    inputs: Any
    output: Any
    is_first: bool  # reads the data itself, which has no gradient
    calls: int  # in one pass
    inside: str | None  # the outermost layer, not model, that holds it


def layer_costs(
    backend: Backend,
    model: Any,
    whole: Callable[[], Any],
    part: Callable[[], Any] | None,
    share: float,
    values: dict[int, Any],
) -> Data:
    """Forward time of every layer, and forward and backward of those that cost most.

    Called eagerly, each layer costs a fixed price beside its arithmetic. The difference
    between the whole batch and a part of it (`share` of its rows) leaves that price out.

    Args:
        backend: Keras's backend.
        model: The user's model.
        whole: A forward pass of the frozen batch.
        part: The same of a part of it.
        share: That part's share of the rows.
        values: Variables' values by id, see `layer_step`.
    """
    full = _times(backend, whole)
    less = _times(backend, part) if part is not None else {}
    rows: list[tuple[Data, Forward]] = []
    for key, forward in full.items():
        fixed = less[key].ns if key in less else 0
        ns = max(0, round((forward.ns - fixed) / (1 - share))) if less else forward.ns
        facts = {
            "ns": ns,
            "calls": forward.calls,
            "inside": forward.inside,
            "is_model": forward.layer is model,
        }
        rows.append(({**_facts(forward), **facts}, forward))
    rows.sort(key=lambda pair: -int(pair[0]["ns"]))
    _time_alone(backend, rows, values)
    return {
        "layers": [row for row, _ in rows[:MAX_ROWS]],
        "without_fixed_price": bool(less),
    }


def _time_alone(backend: Backend, rows: list[tuple[Data, Forward]], values: dict[int, Any]) -> None:
    """Add to the costly layers what they take alone, compiled, with their gradients."""
    whole = sum(int(row["ns"]) for row, _ in rows) or 1
    with_inner: Counter[str] = Counter()
    for row, _ in rows:
        with_inner[str(row["inside"] or row["name"])] += int(row["ns"])
    outer = [
        (row, forward)
        for row, forward in rows
        if not (row["inside"] or row["is_model"] or getattr(forward.layer, "layers", None))
    ]
    arithmetic_of_all = sum(_flops(row) for row, _ in outer) or 1.0

    def share(row: Data) -> float:
        # A recurrence called eagerly is nearly all fixed price: what is left of it may drown in
        # noise, so that its arithmetic counts as well.
        by_time = with_inner[str(row["name"])] / whole
        return max(by_time, _flops(row) / arithmetic_of_all)

    outer.sort(key=lambda pair: -share(pair[0]))
    # A layer that leaves for Python may cost little when called eagerly: users' own come too.
    worth = [
        (row, forward) for row, forward in outer if share(row) >= ALONE_SHARE or row["is_user"]
    ]
    for row, forward in worth[:ALONE_LAYERS]:
        try:
            step = layer_step(
                backend.name, forward.layer, forward.inputs, values, is_first=forward.is_first
            )
            row["alone"] = timed_alone(backend, step.run)
            row.update(backward=step.backward, host_ops=step.host_ops, loops=step.loops)
        except Exception as error:  # noqa: BLE001 - a layer that cannot stand alone is no failure
            row["alone_reason"] = f"{type(error).__name__}: {str(error)[:120]}"


def _flops(row: Data) -> float:
    return float(row.get("flops") or 0.0)


def timed_alone(backend: Backend, run: Callable[[], Any]) -> Data:
    """Windows of a compiled function that is called again and again."""
    last: list[Any] = [run()]
    if backend.name != "tensorflow":
        backend.wait_for(last[0])

    def work() -> int:
        last[0] = run()
        return 1

    def synchronize() -> None:
        if backend.name != "tensorflow":
            backend.wait_for(last[0])

    return measure(work, synchronize, seconds=ALONE_SECONDS).to_record()


def _facts(forward: Forward) -> Data:
    layer = forward.layer
    inputs = _shape(forward.inputs)
    output = _shape(forward.output)
    weights = [tuple(int(n) for n in v.shape) for v in getattr(layer, "weights", [])]
    kind = type(layer).__name__
    file = getattr(getattr(type(layer).call, "__code__", None), "co_filename", "")
    line = getattr(getattr(type(layer).call, "__code__", None), "co_firstlineno", None)
    is_user = is_user_file(file)
    needs: Data = {"flops": None, "bytes": None}
    if inputs is not None and output is not None:
        needs["flops"] = arithmetic.flops(kind, weights, inputs, output)
        needs["bytes"] = arithmetic.moved_bytes(weights, inputs, output)
    return {
        "name": str(layer.name),
        "type": kind,
        "parameters": _parameters(layer),
        **needs,
        "input": inputs,
        "output": output,
        "is_user": is_user,
        "file": file if is_user else None,
        "line": line if is_user else None,
        "settings": {
            name: getattr(layer, name)
            for name in TELLING
            if isinstance(getattr(layer, name, None), int | float | bool)
        },
    }


def _shape(value: Any) -> list[int] | None:
    """The shape of the first tensor in it."""
    for leaf in batches.leaves(value):
        shape = getattr(leaf, "shape", None)
        if shape is not None:
            return [int(n) for n in shape]
    return None


def _times(backend: Backend, forward: Callable[[], Any]) -> dict[int, Forward]:
    """Own time per forward pass of every layer, the median of a few passes after a warm-up."""
    backend.wait_for(forward())
    timer = LayerTimer(backend)
    with timer.watching():
        for _ in range(REPEATS):
            backend.wait_for(forward())
    return {
        key: Forward(
            timer.layers[key],
            sorted(times)[len(times) // 2] * (len(times) // REPEATS or 1),
            timer.inputs[key],
            timer.outputs[key],
            is_first=key == timer.first,
            calls=len(times) // REPEATS or 1,
            inside=timer.inside[key],
        )
        for key, times in timer.own_ns.items()
    }


def _parameters(layer: Any) -> int | None:
    try:
        return int(layer.count_params())
    except (ValueError, TypeError, AttributeError):
        return None
