"""Cost by layer, the optimizer and the rest: the rows of a step, the costliest first."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.step_rows import StepRow
from fitdoctor.units import duration, percent

# What a reader looks at; the rest is summed up in one row.
MOST_ROWS = 12


@dataclass(frozen=True)
class LayerRow:
    """One layer, or all the small ones together."""

    name: str
    type: str
    time: str
    share: float
    percent: str
    rate: str
    parameters: str


def layers_table(rows: tuple[StepRow, ...]) -> tuple[LayerRow, ...]:
    """The rows as text; empty where layers were not timed."""
    layers = [row for row in rows if row.type]
    others = layers[MOST_ROWS:]
    shown = [_row(row) for row in layers[:MOST_ROWS]]
    if others:
        ns, share = sum(row.ns for row in others), sum(row.share for row in others)
        more = f"{len(others)} more layers"
        shown.append(LayerRow(more, "", duration(ns), share, percent(share), "", ""))
    return (*shown, *(_row(row) for row in rows if not row.type))


def _row(row: StepRow) -> LayerRow:
    is_layer = bool(row.type)
    parameters = "not known" if row.parameters is None else f"{row.parameters:,}"
    rate = "not known" if row.rate is None else percent(row.rate)
    return LayerRow(
        name=row.name,
        type=row.type,
        time=duration(row.ns) if row.alone else f"~{duration(row.ns)}",
        share=row.share,
        percent=percent(row.share),
        rate=rate if is_layer else "",
        parameters=parameters if is_layer else "",
    )
