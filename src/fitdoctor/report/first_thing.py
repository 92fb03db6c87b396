"""The one thing to do first: what, where, how much it gains, how that is known, and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from fitdoctor.findings.diagnosed import DiagnosedWorkload
from fitdoctor.findings.finding import Finding
from fitdoctor.report.details import details, labelled
from fitdoctor.report.gain_words import gain_words, run_words
from fitdoctor.report.step_time import time_text
from fitdoctor.report.text import clean, place

INDENT = 4
MARK_WORDS = {
    "safe": "keeps the training the same",
    "unsafe": "may change the training",
}


def first_thing(
    workload: DiagnosedWorkload, *, verbose: bool, cwd: str | None
) -> Iterator[RenderableType]:
    """The finding that gains most."""
    finding = workload.findings[0]
    summary = clean(finding.cure.summary) or clean(finding.name)
    title = labelled("Do this first:", Text(summary, style="bold green"), style="bold")
    yield Padding(title, (0, 0, 0, 2))
    yield Padding(Text.assemble((_gain(workload, finding), "green")), (0, 0, 0, INDENT))
    yield Padding(Text(_name(finding, cwd), style="cyan"), (0, 0, 0, INDENT))
    yield from details(finding, indent=INDENT, with_cure=False, verbose=verbose)


def _gain(workload: DiagnosedWorkload, finding: Finding) -> str:
    """As in `148 ms → 61.7 ms, 2.4× (1.90–2.6), tried here; may change the training`.

    Where the run as planned gains much less than a step, that comes first: it is what matters.
    """
    before = workload.cost_ns
    words = gain_words(finding)
    if before is not None and finding.gain.value > 0 and finding.scope == "step":
        least = "at best " if finding.how == "bound" else ""
        words = f"{time_text(before)} → {least}{time_text(before / finding.gain.value)}, {words}"
    if run := run_words(finding):
        words = f"{run}; one step: {words}"
    mark = MARK_WORDS.get(finding.cure.safety)
    return f"{words}; {mark}" if mark else words


def _name(finding: Finding, cwd: str | None) -> str:
    where = finding.where
    at = f" at {place(where.file, where.line, cwd=cwd)}" if where else ""
    return f"{clean(finding.rule)} {clean(finding.name)}{at}"
