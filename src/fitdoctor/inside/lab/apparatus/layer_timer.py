"""Times every layer of eager forward passes, each without the layers inside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fitdoctor.inside.lab.apparatus.windows import Windows, measure
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends.base import Backend

REPEATS = 5
ALONE_SECONDS = 0.4


@dataclass
class Forward:
    """One layer in some forward passes."""

    layer: Any
    inputs: Any = None
    output: Any = None
    is_first: bool = False  # reads the data itself, which has no gradient
    inside: str | None = None  # the outermost layer, not model, that holds it
    own_ns: list[int] = field(default_factory=list)  # of each call, without the layers inside it

    @property
    def calls(self) -> int:
        """In one pass."""
        return len(self.own_ns) // REPEATS or 1

    @property
    def ns(self) -> int:
        """Own time per pass: the median of its calls."""
        return sorted(self.own_ns)[len(self.own_ns) // 2] * self.calls


def forward_times(backend: Backend, forward: Callable[[], Any]) -> dict[int, Forward]:
    """Every layer in a few passes after a warm-up, by the id of the layer."""
    backend.wait_for(forward())
    timer = LayerTimer(backend)
    with Patches() as patches:
        patches.around(sys.modules["keras"].layers.Layer, "__call__", timer.timed)
        for _ in range(REPEATS):
            backend.wait_for(forward())
    return timer.seen


class LayerTimer:
    """Times every `Layer.__call__` and takes the time of inner layers off the outer one's."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._children: list[int] = []
        self._around: list[Any] = []
        self._has_first = False
        self.seen: dict[int, Forward] = {}

    def timed(self, original: Callable[..., Any], layer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a layer."""
        self._children.append(0)
        # Models only hold layers; a layer that holds others is timed with them.
        holders = [one for one in self._around if not getattr(one, "layers", None)]
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
        seen = self.seen.setdefault(id(layer), Forward(layer))
        seen.inputs, seen.output = args, result
        seen.inside = str(holders[0].name) if holders else None
        seen.own_ns.append(total - inner)
        if not self._has_first and not getattr(layer, "layers", None) and inner == 0:
            self._has_first = seen.is_first = True
        return result


def timed_alone(backend: Backend, run: Callable[[], Any]) -> Windows:
    """Windows of the calls; the last one of each window is waited for."""
    last: list[Any] = [run()]

    def work() -> None:
        last[0] = run()

    def wait() -> None:
        if backend.name != "tensorflow":
            backend.wait_for(last[0])

    wait()
    return measure(work, wait, seconds=ALONE_SECONDS)
