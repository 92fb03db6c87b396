"""Puts the records of a recording together, workload by workload, and counts what is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fitdoctor.contract.codec import BadValue, Record, as_text, decode, decode_known
from fitdoctor.contract.host_looks import HostLook
from fitdoctor.contract.lines import (
    CallbacksLine,
    EventLine,
    ExitLine,
    LooksLine,
    NoteLine,
    OfWorkload,
    OverheadLine,
    SourcesLine,
    StepsLine,
    WorkloadLine,
    call_row,
    call_rows,
)
from fitdoctor.contract.records import (
    CallbackTotal,
    CallRow,
    Event,
    EventDetail,
    Header,
    KerasFacts,
    Machine,
    ProbeRun,
    Raw,
    RecordedWorkload,
    Recording,
    Sample,
    StepBlock,
    Unseen,
    WorkloadDetail,
)
from fitdoctor.contract.results import Evidence, from_record
from fitdoctor.contract.version_1 import upgraded

# More reasons than this say nothing new.
MOST_DAMAGE = 20
# Records of which the last one counts; all their fields have defaults.
_SINGLE: dict[str, type] = {
    "machine": Machine,
    "keras": KerasFacts,
    "overhead": OverheadLine,
    "exit": ExitLine,
    "sources": SourcesLine,
    "examined": Unseen,
}


def parsed(line: str) -> Raw | None:
    """One line as it is; None where it is not an object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


@dataclass
class _Workload:
    """The records of one workload so far."""

    begun: RecordedWorkload  # with nothing recorded of it
    blocks: list[StepBlock] = field(default_factory=list)
    calls: dict[int, CallRow] = field(default_factory=dict)
    callbacks: dict[tuple[str, str], CallbackTotal] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    probes: dict[str, ProbeRun] = field(default_factory=dict)
    found: dict[str, object] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def put_in_order(self) -> int:
        """Sort the steps by time, leave out what overlaps; return how many blocks that were."""
        kept: list[StepBlock] = []
        ended: dict[tuple[int, int], int] = {}
        for block in sorted(self.blocks, key=lambda one: one.t[0]):
            of = (block.call, block.epoch)
            if block.t[0] > ended.get(of, -1):
                kept.append(block)
                ended[of] = block.t[-1]
        left_out = len(self.blocks) - len(kept)
        self.blocks = kept
        return left_out

    def finish(self) -> RecordedWorkload:
        return replace(
            self.begun,
            blocks=tuple(self.blocks),
            calls=tuple(self.calls[t] for t in sorted(self.calls)),
            callbacks=tuple(self.callbacks.values()),
            events=tuple(self.events),
            probes=self.probes,
            evidence=Evidence(self.found),
            notes=tuple(self.notes),
        )


class Gathered:
    """The records of a recording so far, by workload."""

    def __init__(self, schema: int) -> None:
        self._schema = schema
        self._single: dict[type, Any] = {}
        self._kinds: set[str] = set()
        self._damage: list[str] = []
        self._broken = 0
        self._samples: list[Sample] = []
        self._looks: list[HostLook] = []
        self._notes: list[tuple[str, str]] = []
        self._events: list[Event] = []
        self._workloads: dict[int, _Workload] = {}
        self._actions: dict[str, Callable[[Raw], None]] = {
            "workload": self._add_workload,
            "steps": self._add_steps,
            "calls": self._add_calls,
            "open_call": self._add_open_call,
            "callbacks": self._add_callbacks,
            "event": self._add_event,
            "probe": self._add_probe,
            "note": self._add_note,
            "sample": lambda record: self._samples.append(decode(Sample, record)),
            "lines": lambda record: self._looks.extend(decode(LooksLine, record).looks()),
        }

    def add(self, line: str) -> None:
        """Check one line and keep what it says."""
        record = parsed(line)
        kind = record.get("k") if record is not None else None
        if record is None or not isinstance(kind, str):
            if line.strip():
                self._leave_out("a line is not a record")
            return
        try:
            if kind in self._actions:
                self._actions[kind](record)
            elif kind in _SINGLE:
                self._single[_SINGLE[kind]] = decode(_SINGLE[kind], record)
            # Other kinds are marks without a content, for people only, or of a later version.
            self._kinds.add(kind)
        except (BadValue, LookupError) as error:
            self._leave_out(f"{kind}: {error}")

    def _leave_out(self, reason: str) -> None:
        self._broken += 1
        if len(self._damage) < MOST_DAMAGE:
            self._damage.append(as_text(reason))

    def _of(self, number: int) -> _Workload:
        if number not in self._workloads:
            raise LookupError(f"there is no workload {number}")
        return self._workloads[number]

    def _add_workload(self, record: Raw) -> None:
        line = decode(WorkloadLine, record)
        detail = decode_known(WorkloadDetail, record.get("detail"))
        parent = line.parent if line.parent != line.w else None
        self._workloads[line.w] = _Workload(
            RecordedWorkload(line.w, line.kind, line.file, line.line, line.t, parent, detail)
        )

    def _add_steps(self, record: Raw) -> None:
        line = decode(StepsLine, record)
        self._of(line.w).blocks.append(line.block())

    def _add_calls(self, record: Raw) -> None:
        rows = self._of(decode(OfWorkload, record).w).calls
        for row in call_rows(record):
            rows[row.t] = row

    def _add_open_call(self, record: Raw) -> None:
        row = call_row(record)
        self._of(decode(OfWorkload, record).w).calls[row.t] = row

    def _add_callbacks(self, record: Raw) -> None:
        found = decode(CallbacksLine, record)
        workload = self._of(found.w)
        for total in found.items:
            workload.callbacks[(total.name, total.hook)] = total

    def _add_event(self, record: Raw) -> None:
        line = decode(EventLine, record)
        detail = decode_known(EventDetail, record.get("detail"))
        event = Event(line.name, line.t, line.dur, line.c, line.step, detail)
        workload = None if line.w is None else self._workloads.get(line.w)
        (self._events if workload is None else workload.events).append(event)

    def _add_probe(self, record: Raw) -> None:
        workload = self._of(decode(OfWorkload, record).w)
        run = decode(ProbeRun, record)
        if run.is_ok:
            data = record.get("data")
            if not isinstance(data, dict):
                raise BadValue(f"{run.name} has no result")
            if self._schema < 2:
                data = upgraded(run.name, data)
            found = from_record(run.name, data)
            if found is not None:
                workload.found[run.name] = found
        else:
            workload.found.pop(run.name, None)
        workload.probes[run.name] = run

    def _add_note(self, record: Raw) -> None:
        note = decode(NoteLine, record)
        workload = None if note.w is None else self._workloads.get(note.w)
        (self._notes if workload is None else workload.notes).append((note.level, note.message))

    def _last(self, kind: type[Record]) -> Record:
        found: Record = self._single.get(kind, kind())
        return found

    def finish(self, path: str, header: Raw) -> Recording:
        """The recording."""
        for workload in self._workloads.values():
            for _ in range(workload.put_in_order()):
                self._leave_out("steps: recorded twice")
        return Recording(
            path=path,
            header=decode_known(Header, header),
            machine=self._last(Machine),
            keras=self._last(KerasFacts),
            workloads=tuple(one.finish() for one in self._workloads.values()),
            events=tuple(self._events),
            samples=tuple(self._samples),
            notes=tuple(self._notes),
            own_cost_ns=self._last(OverheadLine).ns_per_step,
            examined="examined" in self._kinds,
            ended="end" in self._kinds,
            exit_code=self._last(ExitLine).code,
            exit_signal=self._last(ExitLine).signal,
            broken_lines=self._broken,
            damage=tuple(self._damage),
            sources=self._last(SourcesLine).sha256,
            unseen=self._last(Unseen),
            looks=tuple(sorted(self._looks, key=lambda one: one.t)),
        )
