"""Layers that write a row of zeros with a single one for every id."""

from __future__ import annotations

from fitdoctor.analysis.leaves import leaves_of
from fitdoctor.analysis.model_costs import LayerCost
from fitdoctor.analysis.view import View

ENCODINGS = frozenset({"CategoryEncoding", "IntegerLookup", "Hashing"})


def one_hot_layers(view: View) -> list[LayerCost]:
    """Of several ids at once they make a sum of rows, which a table does not look up."""
    return [
        one
        for one in view.layers
        if one.type in ENCODINGS and bool(one.input) and (one.input or ())[-1] == 1
    ]


def one_hot_ns(view: View, step_ns: float) -> float:
    """Their time in a step."""
    names = {one.name for one in one_hot_layers(view)}
    leaves = leaves_of(view, {"step": step_ns}) if names and step_ns > 0 else ()
    return sum(leaf.ns for leaf in leaves if leaf.layer in names)
