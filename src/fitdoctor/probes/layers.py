"""Cost by layer: the forward pass of the frozen batch, layer by layer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.probes.experiment import Data
from fitdoctor.recorder.backends.base import Backend
from fitdoctor.recorder.patches import Patches

REPEATS = 5
MAX_ROWS = 64


class LayerTimer:
    """Times every `Layer.__call__` and takes the time of inner layers off the outer one's."""

    def __init__(self, backend: Backend) -> None:
        """Nothing is patched yet."""
        self._backend = backend
        self._children: list[int] = []
        self.own_ns: dict[int, list[int]] = {}
        self.layers: dict[int, Any] = {}

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
            begin = time.perf_counter_ns()
            result = original(layer, *args, **kwargs)
            self._backend.wait_for(result)
            total = time.perf_counter_ns() - begin
            inner = self._children.pop()
            if self._children:
                self._children[-1] += total
            self.layers[id(layer)] = layer
            self.own_ns.setdefault(id(layer), []).append(total - inner)
            return result

        return __call__


def layer_costs(
    backend: Backend,
    model: Any,
    whole: Callable[[], Any],
    part: Callable[[], Any] | None,
    share: float,
) -> Data:
    """Forward time of every layer that grows with the batch.

    Called eagerly, each layer costs a fixed price beside its arithmetic. The difference
    between the whole batch and a part of it (`share` of its rows) leaves that price out.
    """
    full = _times(backend, whole)
    less = _times(backend, part) if part is not None else {}
    rows: list[Data] = []
    for key, (layer, ns) in full.items():
        fixed = less[key][1] if key in less else 0
        rows.append(
            {
                "name": str(layer.name),
                "type": type(layer).__name__,
                "ns": max(0, round((ns - fixed) / (1 - share))) if less else ns,
                "parameters": _parameters(layer),
                "is_model": layer is model,
            }
        )
    rows.sort(key=lambda row: -int(row["ns"]))
    return {"layers": rows[:MAX_ROWS], "without_fixed_price": bool(less)}


def _times(backend: Backend, forward: Callable[[], Any]) -> dict[int, tuple[Any, int]]:
    """Own time per forward pass of every layer, the median of a few passes after a warm-up."""
    backend.wait_for(forward())
    timer = LayerTimer(backend)
    with timer.watching():
        for _ in range(REPEATS):
            backend.wait_for(forward())
    return {
        key: (timer.layers[key], sorted(times)[len(times) // 2] * (len(times) // REPEATS or 1))
        for key, times in timer.own_ns.items()
    }


def _parameters(layer: Any) -> int | None:
    try:
        return int(layer.count_params())
    except (ValueError, TypeError, AttributeError):
        return None
