"""Which layer is worth trying narrower, from what the layers' timing gave."""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.contract.evidence.model import LayerTime
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.inside.lab.apparatus.layer_cost import cost, dominant


def row(name: str, ns: int, *, inside: str | None = None, alone: int | None = None) -> LayerTime:
    timed = None if alone is None else Timed(ns=(alone,))
    return LayerTime(name=name, type="Dense", ns=ns, inside=inside, alone=timed)


def test_without_layers_none_is() -> None:
    assert dominant([]) is None
    assert dominant([replace(row("model", 9), is_model=True)]) is None


def test_a_cell_inside_a_recurrent_layer_is_not_counted_beside_it() -> None:
    # Called eagerly, the cell costs a fixed price for each of thirty time steps.
    cell = row("lstm_cell", 6_600, inside="lstm")
    found = dominant([cell, row("lstm", 800, alone=34_500), row("dense", 42)])
    assert found is not None
    top, share = found
    assert top.name == "lstm"
    assert share > 0.99


def test_a_layer_that_was_not_timed_alone_leaves_its_time_to_those_inside() -> None:
    found = dominant([row("inner", 1_000, inside="block"), row("block", 100), row("dense", 900)])
    assert found is not None
    assert found[0].name == "inner"
    assert found[1] == 0.5


def test_the_whole_step_of_a_layer_counts_for_each_of_its_calls() -> None:
    assert cost(row("dense", 100)) == 300  # as long as three forward passes
    assert cost(replace(row("dense", 100, alone=50), calls=4)) == 200
