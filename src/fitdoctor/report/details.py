"""The lines under a finding: why, the cure, what an edit gives, what else would help."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fitdoctor.findings.finding import Finding
from fitdoctor.report.gain_words import gain_words, how_words, run_words, scored_words
from fitdoctor.report.text import clean


def details(
    finding: Finding, *, indent: int, with_cure: bool, verbose: bool
) -> Iterator[RenderableType]:
    """A line for each thing that is known.

    Args:
        finding: what was found.
        indent: columns to the left.
        with_cure: the cure has no line of its own yet; one line has to do then, unless verbose.
        verbose: also the evidence, and what the interval rests on.
    """
    is_short = with_cure and not verbose
    texts = [("cure", _cure(finding))] if with_cure else []
    if not is_short:
        texts = [("why", finding.message), *texts, ("edit", partly(finding))]
        if with_cure:  # the first finding has said it beside its gain
            texts.append(("run", run_words(finding)))
        texts += [("or", f"{one.cure.summary}: {gain_words(one)}") for one in finding.also]
    if verbose and finding.evidence:
        texts.append(("seen", _evidence(finding)))
    if verbose:
        texts.append(("from", scored_words(finding)))
    for word, text in texts:
        if clean(text):
            line = Text(clean(text), no_wrap=is_short, overflow="ellipsis" if is_short else None)
            yield Padding(labelled(f"{word:<4}", line), (0, 0, 0, indent))


def partly(finding: Finding) -> str:
    """What an edit gives where the cure itself is a rewrite; empty where there is none."""
    part = finding.partly
    if part is None:
        return ""
    option = " --unsafe" if part.cure.safety == "unsafe" else ""
    return f"{part.cure.summary}: {gain_words(part)} (fitdoctor fix{option})"


def labelled(word: str, text: Text, *, style: str = "dim") -> Table:
    """A word and what belongs to it, whose further lines stay to the right of the word."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=len(word), no_wrap=True, style=style)
    table.add_column(overflow="fold")
    table.add_row(word, text)
    return table


def _cure(finding: Finding) -> str:
    """The cure, and whether it ran here or its gain is estimated; of a bound its size says it."""
    summary, how = finding.cure.summary, how_words(finding)
    return f"{summary} (gain {how})" if summary and how else summary


def _evidence(finding: Finding) -> str:
    return ", ".join(
        f"{clean(str(key))}={'not measured' if value is None else clean(str(value))}"
        for key, value in finding.evidence.items()
    )
