"""TensorFlow's profiler: an XPlane, the operations on its host's threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.profile import Operation, Profile
from fitdoctor.inside.seams.operations.spans import Span
from fitdoctor.inside.seams.operations.xspace import MARK, parsed, traced

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
    """The operations on the host's threads.

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
    return Profile(operations, marks[0].begin, marks[0].end)


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
    scopes = [scope for scope in path.split("/")[:-1] if not scope.startswith(tuple(_CALLS))]
    backward = _GRADIENTS in scopes
    return Operation(tuple(s for s in scopes if s != _GRADIENTS), kind.lstrip("_"), backward)
