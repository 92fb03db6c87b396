"""What would help: one row per finding, its reason and its cure below it."""

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
from fitdoctor.report.gain_words import gain_size, gain_words, how_words, run_words
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
    """The rows, widest gain first as the diagnosis ordered them, then their joint gain."""
    rows = [_row(finding, workload, cwd) for finding in workload.findings]
    joint = _joint_row(workload)
    widths = _widths([*rows, joint] if joint else rows, width)
    yield _title(widths)
    for finding, row in zip(workload.findings, rows, strict=True):
        yield _line(row, widths)
        yield from _details(finding, verbose=verbose)
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
    table.add_row(Text("  What would help", style="bold"), _AFTER_TITLE, _GAIN_TITLE)
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


def partly(finding: Finding) -> str:
    """What an edit gives where the cure itself is a rewrite; empty where there is none."""
    part = finding.partly
    if part is None:
        return ""
    option = " --unsafe" if part.cure.safety == "unsafe" else ""
    return f"{part.cure.summary}: {gain_words(part)} (fitdoctor fix{option})"


def _cure(finding: Finding) -> str:
    """The cure, and whether it ran here or its gain is estimated; of a bound its size says it."""
    summary, how = finding.cure.summary, how_words(finding)
    return f"{summary} (gain {how})" if summary and how else summary


def _details(finding: Finding, *, verbose: bool) -> Iterator[RenderableType]:
    texts = [("why", finding.message), ("cure", _cure(finding)), ("edit", partly(finding))]
    texts.append(("run", run_words(finding)))
    texts += [("or", f"{one.cure.summary}: {gain_words(one)}") for one in finding.also]
    for word, text in texts:
        if clean(text):
            yield _detail(word, clean(text))
    if verbose and finding.evidence:
        known = ", ".join(
            f"{clean(str(key))}={'not measured' if value is None else clean(str(value))}"
            for key, value in finding.evidence.items()
        )
        yield _detail("seen", known)


def _detail(word: str, text: str) -> Padding:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=4, no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    table.add_row(word, Text(text))
    return Padding(table, (0, 0, 0, DETAIL_INDENT))
