"""Every recorded step as a row of a CSV file; empty where something was not measured."""

from __future__ import annotations

import csv
import io

from fitdoctor.analysis.rows import rows_of
from fitdoctor.contract.records import Recording
from fitdoctor.report.text import clean

COLUMNS = (
    "workload", "kind", "file", "line", "call", "epoch", "row", "executions", "t_ns", "period_ns",
    "step_ns", "wait_ns", "callbacks_ns", "compile_ns", "others_cores",
)  # fmt: skip
# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@")


def steps_csv(recording: Recording) -> str:
    """The steps of every workload, oldest first; times in nanoseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for workload in recording.workloads:
        who = (workload.number, _text(workload.kind), _text(workload.file), workload.line)
        for number, row in enumerate(rows_of(workload)):
            wait = None if row.wait is None else round(row.wait)
            times = (row.t, row.period, round(row.step), wait, row.callbacks, row.compiled)
            counts = (row.call, row.epoch, number, row.executions)
            writer.writerow((*who, *counts, *times, row.others_cores))
    return text.getvalue()


def _text(value: str | None) -> str | None:
    if value is None:
        return None
    shown = clean(value)
    return f"'{shown}" if shown.startswith(_FORMULA_STARTS) else shown
