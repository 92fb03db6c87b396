"""Puts the records of a recording together, workload by workload, and counts what is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from fitdoctor.contract.codec import BadValue, as_text, decode, decode_known
from fitdoctor.contract.lines import (
    CallbacksLine,
    EventLine,
    ExitLine,
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
    WorkloadDetail,
)
from fitdoctor.contract.results import Evidence, from_record
from fitdoctor.contract.version_1 import upgraded

# More reasons than this say nothing new.
MOST_DAMAGE = 20


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

    kind: str
    file: str | None
    line: int | None
    t: int
    parent: int | None
    detail: WorkloadDetail
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

    def finish(self, number: int) -> RecordedWorkload:
        """The workload."""
        return RecordedWorkload(
            number=number,
            kind=self.kind,
            file=self.file,
            line=self.line,
            t=self.t,
            parent=self.parent if self.parent != number else None,
            detail=self.detail,
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
        """Nothing so far."""
        self._schema = schema
        self._machine = Machine()
        self._keras = KerasFacts()
        self._own_cost: float | None = None
        self._exit = ExitLine()
        self._sources: dict[str, str | None] = {}
        self._examined = self._ended = False
        self._damage: list[str] = []
        self._broken = 0
        self._samples: list[Sample] = []
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
            action = self._actions.get(kind)
            if action is not None:
                action(record)
            else:
                self._add_single(kind, record)
        except (BadValue, LookupError) as error:
            self._leave_out(f"{kind}: {error}")

    def _leave_out(self, reason: str) -> None:
        self._broken += 1
        if len(self._damage) < MOST_DAMAGE:
            self._damage.append(as_text(reason))

    def _add_single(self, kind: str, record: Raw) -> None:
        """Records that are alone, or stand beside the workloads."""
        if kind == "machine":
            self._machine = decode(Machine, record)
        elif kind == "keras":
            self._keras = decode(KerasFacts, record)
        elif kind == "overhead":
            self._own_cost = decode(OverheadLine, record).ns_per_step
        elif kind == "exit":
            self._exit = decode(ExitLine, record)
        elif kind == "sources":
            self._sources = decode(SourcesLine, record).sha256
        elif kind == "sample":
            self._samples.append(decode(Sample, record))
        elif kind == "examined":
            self._examined = True
        elif kind == "end":
            self._ended = True
        # Other kinds are for people only (progress), or of a later version.

    def _of(self, number: int) -> _Workload:
        if number not in self._workloads:
            raise LookupError(f"there is no workload {number}")
        return self._workloads[number]

    def _add_workload(self, record: Raw) -> None:
        line = decode(WorkloadLine, record)
        detail = decode_known(WorkloadDetail, record.get("detail"))
        self._workloads[line.w] = _Workload(
            line.kind, line.file, line.line, line.t, line.parent, detail
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

    def finish(self, path: str, header: Raw) -> Recording:
        """The recording."""
        for workload in self._workloads.values():
            for _ in range(workload.put_in_order()):
                self._leave_out("steps: recorded twice")
        return Recording(
            path=path,
            header=decode_known(Header, header),
            machine=self._machine,
            keras=self._keras,
            workloads=tuple(one.finish(number) for number, one in self._workloads.items()),
            events=tuple(self._events),
            samples=tuple(self._samples),
            notes=tuple(self._notes),
            own_cost_ns=self._own_cost,
            examined=self._examined,
            ended=self._ended,
            exit_code=self._exit.code,
            exit_signal=self._exit.signal,
            broken_lines=self._broken,
            damage=tuple(self._damage),
            sources=self._sources,
        )
