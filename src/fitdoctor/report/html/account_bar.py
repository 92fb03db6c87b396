"""The account as a bar that can be zoomed: a step, its parts, the layers and lines in them."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.findings.account_row import AccountRow
from fitdoctor.findings.diagnosed import DiagnosedWorkload
from fitdoctor.report.step_time import PART_WORDS, time_text
from fitdoctor.report.text import place
from fitdoctor.units import percent

STATE_WORDS = {
    "ceiling": "at the machine's ceiling, or asked for",
    "waste": "waste with a cause",
    "unexplained": "unexplained",
}
# Rows of the table; the others are in the JSON report.
MOST_ROWS = 20


@dataclass(frozen=True)
class BarLeaf:
    """One piece of a part."""

    what: str
    share: float  # of the step
    words: str  # what a pointer or a screen reader gets
    state: str
    time: str
    floor: str
    owner: str
    place: str


@dataclass(frozen=True)
class BarPart:
    """One part of the step with its pieces, the largest first."""

    part: str
    words: str
    share: float
    time: str
    leaves: tuple[BarLeaf, ...]


def account_bar(workload: DiagnosedWorkload, cwd: str | None) -> tuple[BarPart, ...]:
    """The parts, the largest first; empty where there is no account."""
    total = sum(row.ns for row in workload.account)
    if total <= 0:
        return ()
    parts: dict[str, list[AccountRow]] = {}
    for row in workload.account:
        parts.setdefault(row.part, []).append(row)
    found = [_part(name, rows, total, cwd) for name, rows in parts.items()]
    return tuple(sorted(found, key=lambda one: -one.share))


def _part(name: str, rows: list[AccountRow], total: float, cwd: str | None) -> BarPart:
    ns = sum(row.ns for row in rows)
    return BarPart(
        part=name,
        words=PART_WORDS.get(name, name),
        share=ns / total,
        time=time_text(ns),
        leaves=tuple(_leaf(row, total, cwd) for row in sorted(rows, key=lambda one: -one.ns)),
    )


def _leaf(row: AccountRow, total: float, cwd: str | None) -> BarLeaf:
    what = PART_WORDS.get(row.what, row.what)
    share = row.ns / total
    owner = f", {row.owner}" if row.owner else ""
    return BarLeaf(
        what=what,
        share=share,
        words=f"{what}: {time_text(row.ns)}, {percent(share)}; {STATE_WORDS[row.state]}{owner}",
        state=row.state,
        time=time_text(row.ns),
        floor="not known" if row.floor_ns is None else time_text(row.floor_ns),
        owner=row.owner or "",
        place=place(row.where.file, row.where.line, cwd=cwd) if row.where else "",
    )
