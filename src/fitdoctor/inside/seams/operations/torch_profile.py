"""torch's profiler: operations on the CPU, mapped to Keras's layers by marks around their calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.profile import Operation, Profile
from fitdoctor.inside.seams.operations.spans import Span

MARK = "fitdoctor steps"
LAYER = "fitdoctor layer "
LOG_LEVEL = "KINETO_LOG_LEVEL"
# Between two operations of a layer, Python runs.
PYTHON = "python"
_BACKWARD = "autograd::engine::evaluate_function: "
_PREFIXES = ("aten::", "autograd::", "torch::")


def profiled(run: Callable[[], None]) -> Profile:
    """Run under torch's profiler; every call of a layer is marked with its name."""
    with profiling() as seen:
        run()
    return seen()


@contextmanager
def profiling() -> Iterator[Callable[[], Profile]]:
    """The same for whatever runs meanwhile; what was seen is known afterwards."""
    torch = sys.modules["torch"]
    layer = sys.modules["keras"].layers.Layer

    def marked(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.profiler.record_function(f"{LAYER}{self.name}"):
            return original(self, *args, **kwargs)

    activities = [torch.profiler.ProfilerActivity.CPU]
    profiler = torch.profiler.profile(activities=activities)
    with _without_words(), Patches() as patches, profiler as profile:
        patches.around(layer, "__call__", marked)
        with torch.profiler.record_function(MARK):
            yield lambda: read(profile.events())


@contextmanager
def _without_words() -> Iterator[None]:
    """The profiler writes to stderr when it starts and stops, which is the script's own."""
    before = os.environ.get(LOG_LEVEL)
    os.environ[LOG_LEVEL] = "99"
    try:
        yield
    finally:
        if before is None:
            del os.environ[LOG_LEVEL]
        else:
            os.environ[LOG_LEVEL] = before


def read(events: Iterable[Any]) -> Profile:
    """The operations by thread; gradients belong to the layer of the operation they are of."""
    by_thread: dict[int, list[Any]] = {}
    for event in events:
        by_thread.setdefault(int(event.thread), []).append(event)
    layers: dict[int, tuple[str, ...]] = {}  # of forward operations, by their sequence number
    paths = {thread: _paths(found, layers) for thread, found in by_thread.items()}
    threads: list[list[Span[Operation]]] = []
    marks: list[tuple[float, float]] = []
    for found in paths.values():
        spans = []
        for event, path, backward in found:
            begin, end = event.time_range.start * 1e3, event.time_range.end * 1e3
            if event.name == MARK:
                marks.append((begin, end))
                continue
            layer = layers.get(backward, ()) if backward is not None else path
            spans.append(Span(begin, end, _operation(event.name, layer, backward is not None)))
        threads.append(spans)
    if not marks:
        raise NotAvailable("the profile does not say when the steps ran")
    return Profile(threads, *marks[0])


def _paths(
    events: list[Any], layers: dict[int, tuple[str, ...]]
) -> list[tuple[Any, tuple[str, ...], int | None]]:
    """Each event with the layers around it, and the sequence number of the gradient it is in."""
    found: list[tuple[Any, tuple[str, ...], int | None]] = []
    around: list[tuple[float, tuple[str, ...], int | None]] = []
    for event in sorted(events, key=lambda one: (one.time_range.start, -one.time_range.end)):
        while around and around[-1][0] <= event.time_range.start:
            around.pop()
        path, backward = (around[-1][1], around[-1][2]) if around else ((), None)
        number = int(getattr(event, "sequence_nr", -1))
        if event.name.startswith(LAYER):
            path = (*path, event.name.removeprefix(LAYER))
        elif event.name.startswith(_BACKWARD):
            backward = number
        elif backward is None and number >= 0 and path:
            layers.setdefault(number, path)
        around.append((event.time_range.end, path, backward))
        found.append((event, path, backward))
    return found


def _operation(name: str, path: tuple[str, ...], backward: bool) -> Operation:
    if name.startswith(LAYER):
        return Operation(path, PYTHON)
    op = name.removeprefix(_BACKWARD)
    for prefix in _PREFIXES:
        op = op.removeprefix(prefix)
    return Operation(path, op, backward)
