"""TensorFlow's profiler and the file that it writes, read with TensorFlow's own protobuf."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.quiet_start import quiet_start

XPLANE = "tensorflow.tsl.profiler.protobuf.xplane_pb2"
MARK = "fitdoctor steps"
DEVICE = "/device:GPU"
# The other lines of a device repeat its streams' events by module, by operation, by step.
STREAM = "Stream"


class DeviceEvent(NamedTuple):
    """A kernel or a copy on a stream of a GPU, in nanoseconds."""

    stream: str
    name: str
    begin: float
    end: float
    stats: dict[str, Any]


def traced(run: Callable[[], None]) -> bytes:
    """Run under TensorFlow's profiler, without its Python tracer."""
    profiler = sys.modules["tensorflow"].profiler.experimental
    options = profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    with tempfile.TemporaryDirectory(prefix="fitdoctor-") as folder:
        with quiet_start():
            profiler.start(folder, options=options)
        try:
            with profiler.Trace(MARK):
                run()
        finally:
            with quiet_start():
                profiler.stop()
        paths = list(Path(folder).rglob("*.xplane.pb"))
        if not paths:
            raise NotAvailable("TensorFlow wrote no profile")
        return paths[0].read_bytes()


def parsed(data: bytes) -> Any:
    """The profile as a message.

    Raises:
        NotAvailable: this version of TensorFlow cannot read its own profiles.
    """
    try:
        space = importlib.import_module(XPLANE).XSpace()
    except (ImportError, AttributeError) as error:
        raise NotAvailable("this version of TensorFlow cannot read its own profiles") from error
    space.ParseFromString(data)
    return space


def device_events(space: Any) -> Iterator[DeviceEvent]:
    """What ran on the streams of every GPU."""
    for plane in space.planes:
        if not plane.name.startswith(DEVICE):
            continue
        names = {key: str(value.name) for key, value in plane.event_metadata.items()}
        kinds = {key: str(value.name) for key, value in plane.stat_metadata.items()}
        for line in plane.lines:
            if not line.name.startswith(STREAM):
                continue
            for event in line.events:
                begin = line.timestamp_ns + event.offset_ps / 1e3
                yield DeviceEvent(
                    f"{plane.name} {line.name}",
                    names.get(event.metadata_id, ""),
                    begin,
                    begin + event.duration_ps / 1e3,
                    {kinds.get(one.metadata_id, ""): _value(one, kinds) for one in event.stats},
                )


def _value(stat: Any, kinds: dict[int, str]) -> Any:
    """A stat's value; long texts are kept once, as names of their own."""
    field = stat.WhichOneof("value")
    if field is None:
        return None
    value = getattr(stat, field)
    return kinds.get(value, "") if field == "ref_value" else value
