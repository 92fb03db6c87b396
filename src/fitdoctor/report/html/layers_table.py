"""Cost by layer of the forward pass, the dearest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fitdoctor.recording.schema import RecordedWorkload
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
    parameters: str


def layers_table(workload: RecordedWorkload) -> tuple[LayerRow, ...]:
    """The rows; empty where layers were not timed."""
    data = workload.result("layers") or {}
    layers = [layer for layer in data.get("layers", ()) if not layer.get("is_model")]
    total = sum(float(layer["ns"]) for layer in layers)
    if not total:
        return ()
    rows = [_row(layer, total) for layer in layers[:MOST_ROWS]]
    others = layers[MOST_ROWS:]
    if others:
        ns = sum(float(layer["ns"]) for layer in others)
        rows.append(
            LayerRow(
                f"{len(others)} more layers", "", duration(ns), ns / total, percent(ns / total), ""
            )
        )
    return tuple(rows)


def _row(layer: dict[str, Any], total: float) -> LayerRow:
    ns = float(layer["ns"])
    parameters = layer.get("parameters")
    return LayerRow(
        name=str(layer.get("name", "")),
        type=str(layer.get("type", "")),
        time=duration(ns),
        share=ns / total,
        percent=percent(ns / total),
        parameters="not known" if parameters is None else f"{parameters:,}",
    )
