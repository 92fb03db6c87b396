"""The recording as a Perfetto trace: steps, waits, callbacks, events, probes, counters."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

from fitdoctor.analysis.rows import rows_of
from fitdoctor.contract.errors import UsageError
from fitdoctor.contract.records import RecordedWorkload, Recording
from fitdoctor.report.text import clean

_SEQUENCE = 1


def check_perfetto() -> None:
    """Find out early whether a trace can be written.

    Raises:
        UsageError: The perfetto package is not installed.
    """
    try:
        importlib.import_module("perfetto.trace_builder.proto_builder")
    except ImportError as error:
        raise UsageError(
            "a .pftrace file is written with the perfetto package, which is not installed",
            expected="fitdoctor with its extra `trace`",
            advice="pip install 'fitdoctor[trace]'",
        ) from error


def perfetto_trace(recording: Recording) -> bytes:
    """The bytes of a .pftrace file; open it at ui.perfetto.dev or with trace_processor.

    Raises:
        UsageError: The perfetto package is not installed.
    """
    check_perfetto()
    trace = _Trace()
    for workload in recording.workloads:
        _add_workload(trace, workload)
    _add_samples(trace, recording)
    data: bytes = trace.builder.serialize()
    return data


class _Trace:
    """Tracks and slices; Perfetto wants begin and end in pairs on each track."""

    def __init__(self) -> None:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent
        from perfetto.trace_builder.proto_builder import TraceProtoBuilder

        self.builder = TraceProtoBuilder()
        self._types = TrackEvent
        self._cleared = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self._numbers = itertools.count(1)
        self._is_first = True

    def track(self, name: str, parent: int | None = None, *, counter: bool = False) -> int:
        number = next(self._numbers)
        packet = self.builder.add_packet()
        packet.track_descriptor.uuid = number
        packet.track_descriptor.name = clean(name)
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        if counter:
            packet.track_descriptor.counter.SetInParent()
        return number

    def slice(self, track: int, name: str, begin: int, length: float) -> None:
        if length <= 0:
            return
        start = self._event(track, begin, self._types.TYPE_SLICE_BEGIN)
        start.name = clean(name)
        self._event(track, begin + round(length), self._types.TYPE_SLICE_END)

    def count(self, track: int, t: int, value: float) -> None:
        self._event(track, t, self._types.TYPE_COUNTER).double_counter_value = value

    def _event(self, track: int, t: int, kind: int) -> Any:
        packet = self.builder.add_packet()
        packet.timestamp = max(0, t)
        packet.trusted_packet_sequence_id = _SEQUENCE
        if self._is_first:
            packet.sequence_flags = self._cleared
            self._is_first = False
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet.track_event


def _add_workload(trace: _Trace, workload: RecordedWorkload) -> None:
    where = f" ({workload.file}:{workload.line})" if workload.file else ""
    parent = trace.track(f"{workload.kind}{where}")
    calls, steps = trace.track("calls", parent), trace.track("steps", parent)
    waits, callbacks = trace.track("waiting for data", parent), trace.track("callbacks", parent)
    for number, call in enumerate(workload.calls):
        trace.slice(calls, f"call {number + 1}", call.t, call.dur)
    # Where the wait is inside the compiled step, only its sum over a block is known.
    inside = workload.blocks and workload.blocks[0].graph_wait is not None
    for number, row in enumerate(rows_of(workload)):
        wait = row.wait or 0
        trace.slice(steps, f"step {number}", row.t, row.step + (wait if inside else 0))
        trace.slice(waits, "wait", row.t if inside else max(0, row.t - round(wait)), wait)
        trace.slice(callbacks, "batch callbacks", row.t + round(row.step), row.callbacks)
    tracks: dict[str, int] = {}
    for event in workload.events:
        if event.name not in tracks:
            tracks[event.name] = trace.track(event.name, parent)
        trace.slice(tracks[event.name], event.name, event.t, event.dur)
    probes = trace.track("experiments of fitdoctor", parent)
    for probe in workload.probes.values():
        trace.slice(probes, probe.name, probe.t, probe.dur)


def _add_samples(trace: _Trace, recording: Recording) -> None:
    samples = recording.samples
    if not samples:
        return
    memory = trace.track("memory (bytes)", counter=True)
    for sample in samples:
        if sample.rss is not None:
            trace.count(memory, sample.t, float(sample.rss))
    cores = trace.track("cores in use", counter=True)
    for before, after in itertools.pairwise(samples):
        elapsed = after.t - before.t
        if elapsed > 0 and after.cpu_ns is not None and before.cpu_ns is not None:
            trace.count(cores, after.t, (after.cpu_ns - before.cpu_ns) / elapsed)
    devices = max((len(sample.gpu or ()) for sample in samples), default=0)
    for index in range(devices):
        track = trace.track(f"GPU {index} (% busy)", counter=True)
        for sample in samples:
            gpus = sample.gpu or ()
            util = gpus[index].util if index < len(gpus) else None
            if util is not None:
                trace.count(track, sample.t, util)
