"""All input cures together: what they are, and what they gained when they were tried."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from fitdoctor.findings.diagnosed import DiagnosedWorkload
from fitdoctor.findings.finding import Finding
from fitdoctor.report.gain_words import gain_words
from fitdoctor.report.text import clean

INDENT = 4


def plan_lines(workload: DiagnosedWorkload) -> Iterator[RenderableType]:
    """The plan, and a faster one that may change the training."""
    plan = workload.input_plan
    if plan is None:
        return
    yield ""
    yield from _lines(plan, "All input cures together")
    for other in plan.also:
        yield from _lines(other, "With --unsafe")


def _lines(plan: Finding, title: str) -> Iterator[RenderableType]:
    unsafe = "; may change the training" if plan.cure.safety == "unsafe" else ""
    words = Text.assemble((f"{title}: ", "bold"), (f"{gain_words(plan)}{unsafe}", "green"))
    yield Padding(words, (0, 0, 0, 2))
    yield Padding(Text(clean(plan.cure.summary)), (0, 0, 0, INDENT))
