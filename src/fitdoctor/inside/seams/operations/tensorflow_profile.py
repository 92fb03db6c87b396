"""TensorFlow's profiler: an XPlane, the operations on its host's threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.kernels import on_device
from fitdoctor.inside.seams.operations.profile import Operation, Profile
from fitdoctor.inside.seams.operations.spans import Span
from fitdoctor.inside.seams.operations.xspace import (
    MARK,
    DeviceEvent,
    device_events,
    parsed,
    traced,
)

HOST = "/host:CPU"
# `scope/scope/name:Kind`; the executor's own events have no kind.
_OPERATION = re.compile(r"(?:[^:]*/)?[^:/]+:[A-Za-z_][A-Za-z0-9_]*")
_GRADIENTS = "gradient_tape"
# Calls of functions wait for the operations inside, which are there as well.
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "While", "If", "Case"})


def profiled(run: Callable[[], None]) -> Profile:
    """Run under TensorFlow's profiler."""
    return read(traced(run))


def read(data: bytes) -> Profile:
    """The kernels and copies of a GPU; where there are none, the operations on the host's threads.

    Raises:
        NotAvailable: this version of TensorFlow cannot read its own profiles.
    """
    space = parsed(data)
    plane = next((one for one in space.planes if one.name == HOST), None)
    if plane is None:
        raise NotAvailable("the profile has no events of the host")
    names = {key: str(value.name) for key, value in plane.event_metadata.items()}
    threads = [_spans(line, names) for line in plane.lines]
    marks = [span for spans in threads for span in spans if span.key.op == MARK]
    operations = [[span for span in spans if span.key.op != MARK] for spans in threads]
    if not marks:
        raise NotAvailable("the profile does not say when the steps ran")
    begin, end = marks[0].begin, marks[0].end
    streams: dict[str, list[Span[Operation]]] = {}
    for event in device_events(space):
        operation = on_device(event.name, _started_by(event))
        streams.setdefault(event.stream, []).append(Span(event.begin, event.end, operation))
    if streams:
        return Profile(list(streams.values()), begin, end, on_device=True)
    return Profile(operations, begin, end)


def _started_by(event: DeviceEvent) -> Operation | None:
    """What a kernel computes: of XLA's the name in its program, else the operation's."""
    if event.stats.get("hlo_op"):
        name = str(event.stats.get("name") or "")
        scopes = name.split("/")
        return None if len(scopes) < 2 else _in_scopes(scopes[:-1], scopes[-1])
    return operation_of(str(event.stats.get("tf_op") or ""))


def _spans(line: Any, names: dict[int, str]) -> list[Span[Operation]]:
    found: list[Span[Operation]] = []
    for event in line.events:
        operation = operation_of(names.get(event.metadata_id, ""))
        if operation is not None:
            begin = line.timestamp_ns + event.offset_ps / 1e3
            found.append(Span(begin, begin + event.duration_ps / 1e3, operation))
    return found


def operation_of(name: str) -> Operation | None:
    """What an event is; None for the executor's own.

    Example:
        >>> operation_of("gradient_tape/net/dense/MatMul:MatMul")
        Operation(path=('net', 'dense'), op='MatMul', backward=True)
    """
    if name == MARK:
        return Operation((), MARK)
    if not _OPERATION.fullmatch(name):
        return None
    path, _, kind = name.rpartition(":")
    if kind in _CALLS:
        return None
    return _in_scopes(path.split("/")[:-1], kind)


def _in_scopes(scopes: list[str], kind: str) -> Operation:
    scopes = [scope for scope in scopes if not scope.startswith(tuple(_CALLS))]
    backward = _GRADIENTS in scopes
    return Operation(tuple(s for s in scopes if s != _GRADIENTS), kind.lstrip("_"), backward)
