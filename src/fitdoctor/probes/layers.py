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

REPEATS = 3
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


def layer_costs(backend: Backend, model: Any, forward: Callable[[], Any]) -> Data:
    """Own forward time of every layer, the median of a few passes after one warm-up."""
    backend.wait_for(forward())
    timer = LayerTimer(backend)
    with timer.watching():
        for _ in range(REPEATS):
            backend.wait_for(forward())
    rows: list[Data] = [
        {
            "name": str(timer.layers[key].name),
            "type": type(timer.layers[key]).__name__,
            "ns": sorted(times)[len(times) // 2] * (len(times) // REPEATS or 1),
            "parameters": _parameters(timer.layers[key]),
            "is_model": timer.layers[key] is model,
        }
        for key, times in timer.own_ns.items()
    ]
    rows.sort(key=lambda row: -int(row["ns"]))
    return {"layers": rows[:MAX_ROWS]}


def _parameters(layer: Any) -> int | None:
    try:
        return int(layer.count_params())
    except (ValueError, TypeError, AttributeError):
        return None
