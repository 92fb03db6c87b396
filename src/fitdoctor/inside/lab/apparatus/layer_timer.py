"""Times every layer of eager forward passes, each without the layers inside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends.base import Backend

REPEATS = 5


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


def forward_times(backend: Backend, forward: Callable[[], Any]) -> dict[int, Forward]:
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


class LayerTimer:
    """Times every `Layer.__call__` and takes the time of inner layers off the outer one's."""

    def __init__(self, backend: Backend) -> None:
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
