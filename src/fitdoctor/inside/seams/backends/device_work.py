"""What the device itself does during some steps: each backend's own profiler, read as intervals.

A host clock around enqueued work tells when it was asked for. Only the profiler tells when the
device worked, and it does so kernel by kernel; streams that work at the same time count once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.xspace import device_events, parsed, traced

Span = tuple[float, float]  # begin and end in nanoseconds


def device_work(backend: str, run: Callable[[], None]) -> DeviceTime:
    """Nanoseconds in which the device computed and copied during `run`, and its kernels.

    `run` has to wait for the device before it returns.

    Raises:
        NotAvailable: this backend has no profiler that can be read here.
    """
    readers = {"tensorflow": _tensorflow_spans, "torch": _torch_spans, "jax": _jax_spans}
    if backend not in readers:
        raise NotAvailable(f"the time on the device is not read on {backend}")
    kernels, copies = readers[backend](run)
    if not kernels:
        raise NotAvailable("the profiler saw no work on the device")
    return DeviceTime(
        busy_ns=union([*kernels, *copies]),
        compute_ns=union(kernels),
        copy_ns=union(copies),
        kernels=len(kernels),
    )


def union(spans: Iterable[Span]) -> float:
    """Nanoseconds covered by at least one span.

    Example:
        >>> union([(0, 4), (2, 6), (8, 9)])
        7.0
    """
    total, end = 0.0, float("-inf")
    for begin, until in sorted(spans):
        if until > end:
            total += until - max(begin, end)
            end = until
    return total


def _tensorflow_spans(run: Callable[[], None]) -> tuple[list[Span], list[Span]]:
    kernels: list[Span] = []
    copies: list[Span] = []
    for event in device_events(parsed(traced(run))):
        (copies if _is_copy(event.name) else kernels).append((event.begin, event.end))
    return kernels, copies


def _torch_spans(run: Callable[[], None]) -> tuple[list[Span], list[Span]]:
    torch = sys.modules["torch"]
    if not torch.cuda.is_available():
        raise NotAvailable("torch sees no GPU")
    profiler = torch.profiler
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        run()
    kernels: list[Span] = []
    copies: list[Span] = []
    for event in profile.events():
        if "CUDA" not in str(event.device_type):
            continue
        span = (event.time_range.start * 1e3, event.time_range.end * 1e3)
        (copies if _is_copy(event.name) else kernels).append(span)
    return kernels, copies


def _jax_spans(run: Callable[[], None]) -> tuple[list[Span], list[Span]]:
    jax = sys.modules["jax"]
    data = getattr(jax.profiler, "ProfileData", None)
    if data is None:
        raise NotAvailable("this version of JAX cannot read its own profiles")
    kernels: list[Span] = []
    copies: list[Span] = []
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        with jax.profiler.trace(folder):
            run()
        for path in Path(folder).rglob("*.xplane.pb"):
            for plane in data.from_file(str(path)).planes:
                if not plane.name.startswith("/device:GPU"):
                    continue
                # Other lines repeat the streams' events by module and by operation.
                for line in plane.lines:
                    if not line.name.startswith("Stream"):
                        continue
                    for event in line.events:
                        span = (event.start_ns, event.start_ns + event.duration_ns)
                        (copies if _is_copy(event.name) else kernels).append(span)
    return kernels, copies


def _is_copy(name: str) -> bool:
    return name.lower().startswith(("memcpy", "memset"))
