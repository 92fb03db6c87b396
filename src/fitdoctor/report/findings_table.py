"""What else would help: one row per further finding with its cure below, then all together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fitdoctor.findings.diagnosed import DiagnosedWorkload
from fitdoctor.findings.finding import Finding
from fitdoctor.intervals import Interval
from fitdoctor.report.details import details
from fitdoctor.report.gain_words import gain_size
from fitdoctor.report.step_time import time_text
from fitdoctor.report.text import clean, place, shorten_left
from fitdoctor.units import gain

MARKS = {"safe": "[*]", "unsafe": "[!]", "advice": ""}
# Left of the table, and left of the lines under a row.
INDENT = 4
DETAIL_INDENT = 10
# The longest name of a rule today has 24 letters.
MAX_NAME = 25
# Less than this of a path and a line number tells nothing.
MIN_PLACE = 8
# More rows than this are for -v.
MOST_OTHERS = 2
_AFTER_TITLE = "step after"
_GAIN_TITLE = "gain (90 %)"


@dataclass(frozen=True)
class _Row:
    code: str
    after: str
    gain: str
    mark: str = ""
    name: str = ""
    place: str = ""


def findings_table(
    workload: DiagnosedWorkload, *, width: int, verbose: bool = False, cwd: str | None = None
) -> Iterator[RenderableType]:
    """The findings after the first, as the diagnosis ordered them, then the gain of all."""
    others = workload.findings[1:]
    shown = others if verbose else others[:MOST_OTHERS]
    rows = [_row(finding, workload, cwd) for finding in shown]
    joint = _joint_row(workload)
    widths = _widths([*rows, joint] if joint else rows, width)
    yield _title(widths)
    for finding, row in zip(shown, rows, strict=True):
        yield _line(row, widths)
        yield from details(finding, indent=DETAIL_INDENT, with_cure=True, verbose=verbose)
    if len(others) > len(shown):
        yield Padding(Text(f"{len(others) - len(shown)} more: -v", style="dim"), (0, 0, 0, INDENT))
    if joint:
        yield _line(joint, widths)


def _row(finding: Finding, workload: DiagnosedWorkload, cwd: str | None) -> _Row:
    where = finding.where
    return _Row(
        code=clean(finding.rule),
        mark=MARKS[finding.cure.safety],
        name=set_cell_size(clean(finding.name), MAX_NAME).rstrip(),
        place=place(where.file, where.line, cwd=cwd) if where else "",
        after=("≥ " if finding.how == "bound" else "") + _after(workload, finding.gain),
        gain=gain_size(finding),
    )


def _joint_row(workload: DiagnosedWorkload) -> _Row | None:
    count = sum(finding.how != "bound" for finding in workload.findings)
    if count < 2 or workload.joint_gain is None:
        return None
    return _Row(
        code=_joint_name(count, len(workload.findings)),
        after=_after(workload, workload.joint_gain),
        gain=gain(workload.joint_gain),
    )


def _joint_name(count: int, findings: int) -> str:
    if count < findings:
        return f"{count} of {findings}"
    return "both" if count == 2 else f"all {count}"


def _after(workload: DiagnosedWorkload, ratio: Interval) -> str:
    if workload.step is None or ratio.value <= 0:
        return "?"
    return time_text((workload.cost_ns or workload.step.median_ns) / ratio.value)


def _widths(rows: list[_Row], width: int) -> dict[str, int]:
    """As wide as the contents, with the place in what the others leave."""
    titles = {"code": 5, "mark": 3, "name": 0, "place": 0}
    titles |= {"after": cell_len(_AFTER_TITLE), "gain": cell_len(_GAIN_TITLE)}
    widths = {
        column: max(least, *(cell_len(getattr(row, column)) for row in rows))
        for column, least in titles.items()
    }
    others = sum(size + 1 for column, size in widths.items() if column != "place")
    widths["place"] = min(widths["place"], max(width - INDENT - others, MIN_PLACE))
    return widths


def _title(widths: dict[str, int]) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    left = sum(widths[column] + 1 for column in ("code", "mark", "name", "place")) + INDENT - 1
    table.add_column(width=left)
    table.add_column(width=widths["after"], justify="right")
    table.add_column(width=widths["gain"], justify="right")
    table.add_row(Text("  What else would help", style="bold"), _AFTER_TITLE, _GAIN_TITLE)
    return table


def _line(row: _Row, widths: dict[str, int]) -> Padding:
    table = Table.grid(padding=(0, 1, 0, 0))
    for column, size in widths.items():
        justify: JustifyMethod = "right" if column in ("after", "gain") else "left"
        table.add_column(width=size, no_wrap=True, justify=justify)
    table.add_row(
        Text(row.code, style="bold"),
        Text(row.mark, style="green" if row.mark == "[*]" else "yellow"),
        Text(row.name, style="bold"),
        Text(shorten_left(row.place, widths["place"]), style="cyan"),
        Text(row.after),
        Text(row.gain, style="green"),
    )
    return Padding(table, (0, 0, 0, INDENT))
