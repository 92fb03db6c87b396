"""`docs/calibration.md`: the reliability table, for readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.scored_history import Scored

Row = dict[str, Any]
LEAD = """# How right the gains are

Made by `make calibration` from `benchmarks/results/`; do not edit it by hand.

A gain is shown with a 90 % interval. The interval comes from predictions that were proven
afterwards: it is as wide as 90 % of them need. The unit of an error is the share of a step that the
cure takes away, so a gain of 1.1 gets a narrow interval and a gain of 20 a wide one. What a run
itself measured as uncertain is never made narrower.

A rule gets its own width from 19 scored cases on (with fewer, the width of 90 % is the single worst
case). Until then it gets the width of all rules together, the report says so with `-v`, and in JSON
`gain.interval_from` is `all rules`. `gain.scored_cases` is how many cases of the rule there are.
Rules below 90 % in the table have intervals that are too narrow: their own cases are too few to
widen them.

**The rows are of several versions of fitdoctor.** Most of them are older than the intervals below,
and rules have changed since. `gain.how` was not recorded before 2026-11-19. The casebook's cases
were known when the rules were written, so the table says how right the predictions are on causes
like these, not on any script.
"""
READ = """
`inside 50 %` is the part of the proven gains inside intervals made for 50 %, and so on. Each
prediction is judged by widths made without its own script (on any backend). `as shown` is the 90 %
interval of this version, which is also never narrower than what was measured (at the time, with an
older margin: it is a little too favourable). `as given` is the part inside the interval that was on
the screen at the time, which should have been 90 %. The error is the median of predicted / proven -
1.
"""


def page(
    scored: Sequence[Scored], experts: Sequence[Scored], rows: Sequence[Row], groups: Sequence[Row]
) -> str:
    """The whole page."""
    parts = [LEAD, "## Nominal against observed", READ, *_coverage(rows), ""]
    parts += ["## Widths that ship with the package", "", *_widths(groups), ""]
    parts += ["## Unseen scripts", "", *_unseen(experts), ""]
    parts += ["## Where the rows come from", "", *_sources(scored), ""]
    return "\n".join(parts)


def _coverage(rows: Iterable[Row]) -> list[str]:
    lines = [
        "| | scored | median error | inside 50 % | 80 % | 90 % | as shown | as given |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = row["name"] if row["group"] == "all" else f"{row['group']}: {row['name']}"
        inside = " | ".join(_percent(one) for one in row["inside"].values())
        error, shown = _percent(row["median_error"]), _percent(row["inside_as_shown"])
        given = _percent(row["inside_as_stated"])
        lines.append(f"| {name} | {row['cases']} | {error} | {inside} | {shown} | {given} |")
    return lines


def _widths(groups: Iterable[Row]) -> list[str]:
    lines = [
        "`half width` is a logarithm, times the share of a step that the cure takes away; of a "
        "script that ran it is the logarithm itself.",
        "",
        "| rule | gain is | scored | half width (90 %) |",
        "|---|---|---|---|",
    ]
    for group in groups:
        kind = {"": "any", "script": "tried (the script ran)"}.get(group["how"], group["how"])
        half = group["half_width"]
        width = "too few" if half is None else f"{half:.2f}"
        lines.append(f"| {group['rule'] or 'all'} | {kind} | {group['cases']} | {width} |")
    return lines


def _unseen(experts: Sequence[Scored]) -> list[str]:
    lines = [
        "First findings on scripts that fitdoctor was not made for, where the cause was right, the "
        "gain is no bound, and an expert's change was timed (on a busy machine; it need not be the "
        "cure of the finding). No width is made from these.",
        "",
        "| script | rule | gain is | predicted | expert | inside | commit |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in experts:
        inside = one.low is not None and one.high is not None and one.low <= one.proven <= one.high
        given = f"{one.predicted:.3g} ({one.low:.3g}–{one.high:.3g})" if one.low else "-"
        lines.append(
            f"| {one.case} | {one.rule} | {one.how} | {given} | {one.proven:.3g} | "
            f"{'yes' if inside else 'no'} | {one.commit} |"
        )
    return lines


def _sources(scored: Sequence[Scored]) -> list[str]:
    counts = Counter((one.source, one.date, one.commit, one.machine) for one in scored)
    lines = ["| file | date | commit | machine | scored |", "|---|---|---|---|---|"]
    for (source, date, commit, machine), count in sorted(counts.items()):
        lines.append(f"| {source}.json | {date} | {commit} | {machine} | {count} |")
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}".replace("%", " %")
