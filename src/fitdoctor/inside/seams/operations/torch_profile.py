"""torch's profiler: operations on the CPU, mapped to Keras's layers by marks around their calls."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.kernels import on_device
from fitdoctor.inside.seams.operations.profile import Operation, Profile
from fitdoctor.inside.seams.operations.spans import Span

MARK = "fitdoctor steps"
# Calls of CUDA that start kernels and copies, such as `cudaLaunchKernel` and `cuLaunchKernel`.
LAUNCHES = ("cuda", "cu")
LAYER = "fitdoctor layer "
LOG_LEVEL = "KINETO_LOG_LEVEL"
# Between two operations of a layer, Python runs.
PYTHON = "python"
_BACKWARD = "autograd::engine::evaluate_function: "
_PREFIXES = ("aten::", "autograd::", "torch::")


def profiled(run: Callable[[], None]) -> Profile:
    """Run under torch's profiler; every call of a layer is marked with its name."""
    with profiling(device=sys.modules["torch"].cuda.is_available()) as seen:
        run()
    return seen()


@contextmanager
def profiling(*, device: bool = False) -> Iterator[Callable[[], Profile]]:
    """The same for whatever runs meanwhile; what was seen is known afterwards.

    A loop's own iterations are the host's, whatever the device does meanwhile.
    """
    torch = sys.modules["torch"]
    layer = sys.modules["keras"].layers.Layer

    def marked(original: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.profiler.record_function(f"{LAYER}{self.name}"):
            return original(self, *args, **kwargs)

    activities = [torch.profiler.ProfilerActivity.CPU]
    if device:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
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
    kernels: list[Any] = []
    for event in events:
        if "CUDA" not in str(getattr(event, "device_type", "")):
            by_thread.setdefault(int(event.thread), []).append(event)
        elif not event.name.startswith((LAYER, MARK)):  # marks are shown on the device as well
            kernels.append(event)
    layers: dict[int, tuple[str, ...]] = {}  # of forward operations, by their sequence number
    paths = {thread: _paths(found, layers) for thread, found in by_thread.items()}
    threads: list[list[Span[Operation]]] = []
    started: dict[int, Operation] = {}
    marks: list[tuple[float, float]] = []
    for found in paths.values():
        spans = []
        for event, path, backward, op_around in found:
            begin, end = event.time_range.start * 1e3, event.time_range.end * 1e3
            if event.name == MARK:
                marks.append((begin, end))
                continue
            layer = layers.get(backward, ()) if backward is not None else path
            operation = _operation(event.name, layer, backward is not None)
            if event.name.startswith(LAUNCHES):
                started[int(event.id)] = _operation(op_around, layer, backward is not None)
            spans.append(Span(begin, end, operation))
        threads.append(spans)
    if not marks:
        raise NotAvailable("the profile does not say when the steps ran")
    if kernels:
        return Profile(_streams(kernels, started), *marks[0], on_device=True)
    return Profile(threads, *marks[0])


def _streams(kernels: list[Any], started: dict[int, Operation]) -> list[list[Span[Operation]]]:
    """Kernels and copies; each has the number of the call that started it."""
    streams: dict[int, list[Span[Operation]]] = {}
    for event in kernels:
        begin, end = event.time_range.start * 1e3, event.time_range.end * 1e3
        operation = on_device(event.name, started.get(int(event.id)))
        stream = int(getattr(event, "device_resource_id", 0) or 0)
        streams.setdefault(stream, []).append(Span(begin, end, operation))
    return list(streams.values())


def _paths(
    events: list[Any], layers: dict[int, tuple[str, ...]]
) -> list[tuple[Any, tuple[str, ...], int | None, str]]:
    """Each event with the layers around it, the number of the gradient it is in, and its operation.

    The operation is the innermost of torch's own around an event.
    """
    found: list[tuple[Any, tuple[str, ...], int | None, str]] = []
    around: list[tuple[float, tuple[str, ...], int | None, str]] = []
    for event in sorted(events, key=lambda one: (one.time_range.start, -one.time_range.end)):
        while around and around[-1][0] <= event.time_range.start:
            around.pop()
        path, backward, op = around[-1][1:] if around else ((), None, "")
        number = int(getattr(event, "sequence_nr", -1))
        if event.name.startswith(LAYER):
            path = (*path, event.name.removeprefix(LAYER))
        elif event.name.startswith(_BACKWARD):
            backward = number
        elif backward is None and number >= 0 and path:
            layers.setdefault(number, path)
        op = event.name if event.name.startswith(_PREFIXES) else op
        around.append((event.time_range.end, path, backward, op))
        found.append((event, path, backward, op or event.name))
    return found


def _operation(name: str, path: tuple[str, ...], backward: bool) -> Operation:
    if name.startswith(LAYER):
        return Operation(path, PYTHON)
    op = name.removeprefix(_BACKWARD)
    for prefix in _PREFIXES:
        op = op.removeprefix(prefix)
    return Operation(path, op, backward)
