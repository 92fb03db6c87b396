"""Steps over time, with what happened to them: epochs, compiles, validations, stalls."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fitdoctor.analysis.estimate import quantile
from fitdoctor.analysis.group_costs import is_group
from fitdoctor.analysis.rows import COMPILING, Row, rows_of
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.report.html.thinning import MOST_POINTS, rounded, thin, with_gaps
from fitdoctor.units import duration

# A step this many times as long as the typical one is marked as a stall.
STALL_FACTOR = 5.0
# More marks of one kind than this would be a grey wall.
MOST_MARKS = 120
# The plot reaches a little above all but the longest steps; those are marked at its edge.
SHOWN_SHARE = 0.98
HEADROOM = 1.3
# The line is broken where the next step begins this much later than this one can explain.
PAUSE_FACTOR = 2
PAUSE_NS = 20_000_000
_S = 1e-9
_MS = 1e-6


@dataclass(frozen=True)
class StepsChart:
    """A plot's data, and what must be said beside it."""

    data: dict[str, Any]
    notes: tuple[str, ...]


def steps_chart(workload: RecordedWorkload, t0: int, most: int = MOST_POINTS) -> StepsChart | None:
    """The plot of a workload, or None where nothing was timed one by one."""
    if is_group(workload):
        return _calls(workload, t0, most)
    rows = rows_of(workload)
    if not rows:
        return None
    x = [(row.t - t0) * _S for row in rows]
    whole = [_length(row) / row.executions * _MS for row in rows]
    wait = [None if row.wait is None else row.wait / row.executions * _MS for row in rows]
    marks, notes = _marks(workload, rows, whole, t0)
    spans = _probing(workload, t0)
    breaks = _breaks(rows)
    return _chart(x, whole, wait, marks, notes, unit="step", spans=spans, most=most, breaks=breaks)


def _calls(workload: RecordedWorkload, t0: int, most: int) -> StepsChart | None:
    if not workload.calls:
        return None
    x = [(call.t - t0) * _S for call in workload.calls]
    whole = [call.dur * _MS for call in workload.calls]
    nothing: list[float | None] = [None] * len(x)
    spans = _probing(workload, t0)
    return _chart(x, whole, nothing, [], [], unit="call", spans=spans, most=most)


def _chart(
    x: list[float],
    whole: list[float],
    wait: Sequence[float | None],
    marks: list[dict[str, Any]],
    notes: list[str],
    *,
    unit: str,
    spans: list[dict[str, Any]],
    most: int,
    breaks: Sequence[int] = (),
) -> StepsChart:
    line = with_gaps(thin(x, whole, most), breaks)
    waiting = with_gaps(thin(x, wait, most), breaks)
    if line.is_thinned:
        points = -(-len(x) // line.group)
        notes.insert(
            0,
            f"{len(x):,} {unit}s are drawn as {points:,} points of {line.group} each: the "
            "line is the typical one, the band reaches from the shortest to the longest.",
        )
    data = {
        "x": rounded(line.x, 7),
        "line": rounded(line.middle),
        "low": rounded(line.low) if line.is_thinned else None,
        "high": rounded(line.high) if line.is_thinned else None,
        "wait": rounded(waiting.middle) if any(w is not None for w in wait) else None,
        "top": float(f"{quantile(whole, SHOWN_SHARE) * HEADROOM:.4g}"),
        "marks": marks,
        "spans": spans,
        "unit": unit,
    }
    return StepsChart(data, tuple(notes))


def _breaks(rows: list[Row]) -> list[int]:
    """Rows after which nothing was trained for a while: between epochs, while we experiment."""
    return [
        number
        for number, (row, following) in enumerate(itertools.pairwise(rows))
        if row.period is None and following.t - row.t > PAUSE_FACTOR * _length(row) + PAUSE_NS
    ]


def _length(row: Row) -> float:
    """From one row to the next; the last one of an epoch has only its own parts."""
    return row.period if row.period is not None else row.step + (row.wait or 0) + row.callbacks


def _marks(
    workload: RecordedWorkload, rows: list[Row], whole: list[float], t0: int
) -> tuple[list[dict[str, Any]], list[str]]:
    epochs: dict[tuple[int, int], int] = {}
    for row in rows:
        epochs.setdefault((row.call, row.epoch), row.t)
    typical = statistics.median(whole)
    # Of each: when, how long it is drawn, and what is said of it.
    kinds: dict[str, list[tuple[int, int, str]]] = {
        "epoch": [
            (t, 0, f"epoch {epoch + 1}" + (f" of call {call + 1}" if call else ""))
            for (call, epoch), t in epochs.items()
        ],
        "compile": [
            (e.t, 0, f"{e.name}, {duration(e.dur)}")
            for e in workload.events
            if e.name in COMPILING and e.dur > 0
        ],
        "validation": [
            (e.t, e.dur, f"validation, {duration(e.dur)}")
            for e in workload.events
            if e.name == "validation"
        ],
        "stall": [
            (row.t, 0, f"{duration(ms / _MS)}, {ms / typical:.0f}× the typical step")
            for row, ms in zip(rows, whole, strict=True)
            if ms > STALL_FACTOR * typical > 0 and not row.compiled
        ],
    }
    marks: list[dict[str, Any]] = []
    notes: list[str] = []
    for kind, found in kinds.items():
        every = max(1, -(-len(found) // MOST_MARKS))
        if every > 1:
            notes.append(f"{len(found):,} marks of kind {kind}: every {every}th is drawn.")
        for t, dur, text in found[::every]:
            x, to = round((t - t0) * _S, 5), round((t + dur - t0) * _S, 5)
            marks.append({"x": x, "to": to, "kind": kind, "text": text})
    return marks, notes


def _probing(workload: RecordedWorkload, t0: int) -> list[dict[str, Any]]:
    """When fitdoctor experimented: nothing is trained then."""
    spans = [(p.t, p.t + p.dur) for p in workload.probes.values() if p.dur]
    if not spans:
        return []
    begin, end = min(b for b, _ in spans), max(e for _, e in spans)
    return [{"from": round((begin - t0) * _S, 4), "to": round((end - t0) * _S, 4)}]
