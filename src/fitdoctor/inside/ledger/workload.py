"""A workload inside the user's process: one source line that trains, and what it cost so far."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fitdoctor.contract.codec import encode
from fitdoctor.contract.limits import OTHERS_LIMIT_CORES
from fitdoctor.contract.records import CallbackTotal, CallRow, StepBlock, WorkloadDetail
from fitdoctor.contract.writer import Writer, record_of
from fitdoctor.inside.ledger.callsite import Place

FLUSH_STEPS = 4096  # rows kept in memory before they are written
FLUSH_NS = 500_000_000  # a killed process loses at most this much of the ledger

# The columns that a block of steps has one value per row in.
STEP_COLUMNS = tuple(one.name for one in fields(StepBlock) if str(one.type).startswith("tuple"))
CALL_COLUMNS = tuple(one.name for one in fields(CallRow))
# One value for each field of a `CallRow`; mypy checks that they fit.
CallValues = tuple[int, int, int, int | None, int, int, int, int, int | None, int]


class Columns:
    """Rows of integers kept column by column, written in blocks."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.rows: list[tuple[int | None, ...]] = []

    def take(self) -> dict[str, list[int | None]]:
        """All rows as columns; starts empty again."""
        rows, self.rows = self.rows, []
        columns = zip(*rows, strict=True)
        return {name: list(column) for name, column in zip(self.names, columns, strict=True)}


class Workload:
    """All calls that come from one line of the user's source."""

    def __init__(self, number: int, kind: str, place: Place | None, writer: Writer) -> None:
        self.number = number
        self.kind = kind
        self.place = place
        self.calls = 0
        self.steps = 0
        self.total_ns = 0
        self.first_ns: int | None = None
        self.probed = False
        # Its line stands in a loop of the user's: what that does in a round is part of the script.
        self.is_in_loop = False
        self.callbacks: dict[tuple[str, str], list[Any]] = {}
        self._writer = writer
        self._step_rows = Columns(STEP_COLUMNS)
        self._call_rows = Columns(CALL_COLUMNS)
        self._block: dict[str, Any] = {}
        self._flushed_ns = 0
        self._callback_totals = 0
        # Steps and time during which no other process used our cores.
        self.clean_steps = 0
        self.clean_ns = 0

    def announce(self, t: int, parent: int | None, detail: WorkloadDetail) -> None:
        """Write who this workload is."""
        place = self.place
        self._writer.write(
            {
                "k": "workload",
                "w": self.number,
                "kind": self.kind,
                "file": place.file if place else None,
                "line": place.line if place else None,
                "function": place.function if place else None,
                "t": t,
                "parent": parent,
                "detail": encode(detail),
            }
        )

    def open_block(self, call: int, epoch: int, executions: int) -> None:
        """Steps that follow belong to this call and epoch; `executions` steps per row."""
        self.flush_steps()
        self._block = {"c": call, "e": epoch, "n": executions}

    def mark_pause(self) -> None:
        """What lies between the last step and the next is an examination, not training."""
        self._block["after_pause"] = True

    def add_step(self, t: int, step: int, wait: int | None, callbacks: int) -> None:
        """One execution of the step function; times in nanoseconds."""
        self._step_rows.rows.append((t, step, wait, callbacks))

    def flush_steps(self, graph_wait: int | None = None, others_cores: float | None = None) -> None:
        """Write the steps kept so far.

        Args:
            graph_wait: input wait of the whole block, where only the graph can measure it.
            others_cores: cores that other processes took meanwhile.
        """
        rows = self._step_rows.rows
        if not rows:
            return
        if others_cores is None or others_cores <= OTHERS_LIMIT_CORES:
            self.clean_steps += len(rows) * int(self._block.get("n", 1))
            self.clean_ns += int(rows[-1][0] or 0) + int(rows[-1][1] or 0) - int(rows[0][0] or 0)
        record: dict[str, Any] = {"k": "steps", "w": self.number, **self._block}
        record.update(self._step_rows.take())
        record["others"] = others_cores
        self._block.pop("after_pause", None)
        if graph_wait is not None:
            record["graph_wait"] = graph_wait
        self._writer.write(record)

    @property
    def pending_steps(self) -> int:
        """Rows not written yet."""
        return len(self._step_rows.rows)

    def add_call(self, values: CallValues) -> None:
        """A call that ended."""
        self._call_rows.rows.append(values)
        begin = values[0]
        if len(self._call_rows.rows) >= FLUSH_STEPS or begin - self._flushed_ns > FLUSH_NS:
            self._flushed_ns = begin
            self.flush_calls()

    def flush_calls(self) -> None:
        """Write the calls that ended and the callback totals so far."""
        if self._call_rows.rows:
            self._writer.write({"k": "calls", "w": self.number, **self._call_rows.take()})
        self.flush_callbacks()

    def write_open_call(self, values: CallValues) -> None:
        """A call that still runs; a later record of the same begin replaces it."""
        self._writer.write(record_of("open_call", CallRow(*values), w=self.number))

    def flush_callbacks(self) -> None:
        """Write the totals by callback and hook; later totals replace earlier ones."""
        totals = sum(entry[0] + entry[1] for entry in list(self.callbacks.values()))
        if totals == self._callback_totals:
            return
        self._callback_totals = totals
        items = [
            encode(CallbackTotal(name, hook, *total))
            for (name, hook), total in list(self.callbacks.items())
        ]
        self._writer.write({"k": "callbacks", "w": self.number, "items": items})
