"""Open a recording: check it, forgive a torn last line, refuse what is not ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.records import (
    FORMAT,
    SCHEMA,
    CallbackTotal,
    CallRow,
    Event,
    Probe,
    RecordedWorkload,
    Recording,
    StepBlock,
)

_MAKE_ONE = "fitdoctor run train.py makes a new recording"


def read_recording(path: Path) -> Recording:
    """Read a recording file.

    Raises:
        RecordingError: missing, empty, foreign, newer, or without a readable header.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RecordingError(
            f"the recording {path} cannot be read: {error.strerror or error}",
            expected="a .rec file written by fitdoctor run",
            advice=_MAKE_ONE,
        ) from error
    lines = text.splitlines()
    header = _parse(lines[0]) if lines else None
    _check_header(path, header)
    builder = _Builder()
    for line in lines[1:]:
        builder.add(line)
    return builder.finish(str(path), header or {})


def _parse(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _check_header(path: Path, header: dict[str, Any] | None) -> None:
    if header is None or header.get("format") != FORMAT:
        raise RecordingError(
            f"{path} is not a fitdoctor recording, or its first line was lost",
            expected=f'a first line with "format": "{FORMAT}"',
            advice=_MAKE_ONE,
        )
    schema = header.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise RecordingError(
            f"{path} has no valid schema number: {schema!r}",
            expected=f"schema 1 to {SCHEMA}",
            advice=_MAKE_ONE,
        )
    if schema > SCHEMA:
        raise RecordingError(
            f"{path} was written by a newer fitdoctor ({header.get('fitdoctor', 'unknown')}): "
            f"schema {schema}",
            expected=f"schema {SCHEMA} or older",
            advice="pip install --upgrade fitdoctor",
        )


class _Builder:
    """Collects records by workload; a record that does not fit is counted, not fatal."""

    def __init__(self) -> None:
        self.machine: dict[str, Any] = {}
        self.keras: dict[str, Any] = {}
        self.overhead: dict[str, Any] = {}
        self.exit: dict[str, Any] = {}
        self.sources: dict[str, str | None] = {}
        self.examined = False
        self.ended = False
        self.broken = 0
        self.samples: list[dict[str, Any]] = []
        self.notes: list[tuple[str, str]] = []
        self.events: list[Event] = []
        self.workloads: dict[int, _WorkloadBuilder] = {}

    def add(self, line: str) -> None:
        record = _parse(line)
        kind = record.get("k") if record is not None else None
        action = getattr(self, f"_add_{kind}", None)
        if record is None or not isinstance(kind, str):
            self.broken += bool(line.strip())
            return
        if action is None:
            return  # a kind that a later version added, or one for people only (progress)
        try:
            action(record)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.broken += 1

    def _add_machine(self, record: dict[str, Any]) -> None:
        self.machine = {key: value for key, value in record.items() if key != "k"}

    def _add_keras(self, record: dict[str, Any]) -> None:
        self.keras = {key: value for key, value in record.items() if key != "k"}

    def _add_overhead(self, record: dict[str, Any]) -> None:
        self.overhead = {key: value for key, value in record.items() if key != "k"}

    def _add_exit(self, record: dict[str, Any]) -> None:
        self.exit = record

    def _add_sources(self, record: dict[str, Any]) -> None:
        self.sources = {str(file): found for file, found in dict(record["sha256"]).items()}

    def _add_examined(self, record: dict[str, Any]) -> None:
        self.examined = True

    def _add_end(self, record: dict[str, Any]) -> None:
        self.ended = True

    def _add_sample(self, record: dict[str, Any]) -> None:
        self.samples.append(record)

    def _add_note(self, record: dict[str, Any]) -> None:
        note = (str(record["level"]), str(record["message"]))
        workload = record.get("w")
        if workload in self.workloads:
            self.workloads[workload].notes.append(note)
        else:
            self.notes.append(note)

    def _add_workload(self, record: dict[str, Any]) -> None:
        self.workloads[int(record["w"])] = _WorkloadBuilder(record)

    def _add_steps(self, record: dict[str, Any]) -> None:
        self.workloads[record["w"]].blocks.append(_block(record))

    def _add_calls(self, record: dict[str, Any]) -> None:
        rows = self.workloads[record["w"]].calls
        names = [name for name in CallRow.__dataclass_fields__ if name in record]
        for values in zip(*(record[name] for name in names), strict=True):
            row = CallRow(**dict(zip(names, values, strict=True)))
            rows[row.t] = row

    def _add_open_call(self, record: dict[str, Any]) -> None:
        names = CallRow.__dataclass_fields__
        row = CallRow(**{name: record[name] for name in names})
        self.workloads[record["w"]].calls[row.t] = row

    def _add_callbacks(self, record: dict[str, Any]) -> None:
        workload = self.workloads[record["w"]]
        for item in record["items"]:
            total = CallbackTotal(**item)
            workload.callbacks[(total.name, total.hook)] = total

    def _add_event(self, record: dict[str, Any]) -> None:
        event = Event(
            str(record["name"]),
            int(record["t"]),
            int(record["dur"]),
            record.get("c"),
            record.get("step"),
            dict(record["detail"]),
        )
        workload = self.workloads.get(record.get("w", -1))
        (workload.events if workload is not None else self.events).append(event)

    def _add_probe(self, record: dict[str, Any]) -> None:
        probe = Probe(
            str(record["name"]),
            str(record["status"]),
            str(record.get("reason", "")),
            dict(record.get("data") or {}),
            int(record.get("t", 0)),
            int(record.get("dur", 0)),
        )
        self.workloads[record["w"]].probes[probe.name] = probe

    def finish(self, path: str, header: dict[str, Any]) -> Recording:
        return Recording(
            path=path,
            header=header,
            machine=self.machine,
            keras=self.keras,
            workloads=tuple(builder.finish() for builder in self.workloads.values()),
            events=tuple(self.events),
            samples=tuple(self.samples),
            notes=tuple(self.notes),
            overhead=self.overhead,
            examined=self.examined,
            ended=self.ended,
            exit_code=self.exit.get("code"),
            exit_signal=self.exit.get("signal"),
            broken_lines=self.broken,
            sources=self.sources,
        )


class _WorkloadBuilder:
    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.blocks: list[StepBlock] = []
        self.calls: dict[int, CallRow] = {}
        self.callbacks: dict[tuple[str, str], CallbackTotal] = {}
        self.events: list[Event] = []
        self.probes: dict[str, Probe] = {}
        self.notes: list[tuple[str, str]] = []

    def finish(self) -> RecordedWorkload:
        record = self.record
        return RecordedWorkload(
            number=int(record["w"]),
            kind=str(record["kind"]),
            file=record.get("file"),
            line=record.get("line"),
            t=int(record["t"]),
            parent=record.get("parent"),
            detail=dict(record.get("detail") or {}),
            blocks=tuple(self.blocks),
            calls=tuple(self.calls[t] for t in sorted(self.calls)),
            callbacks=tuple(self.callbacks.values()),
            events=tuple(self.events),
            probes=self.probes,
            notes=tuple(self.notes),
        )


def _block(record: dict[str, Any]) -> StepBlock:
    rows = len(record["t"])
    columns = {name: tuple(record[name]) for name in ("t", "step", "wait", "callbacks")}
    if any(len(column) != rows for column in columns.values()):
        raise ValueError("columns of different lengths")
    return StepBlock(
        call=int(record.get("c", 0)),
        epoch=int(record.get("e", 0)),
        executions=int(record.get("n", 1)),
        graph_wait=record.get("graph_wait"),
        others_cores=record.get("others"),
        after_pause=bool(record.get("after_pause", False)),
        **columns,
    )
