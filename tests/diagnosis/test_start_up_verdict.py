"""A start that takes longer than the training: said only where the training's length is known."""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.diagnosis.verdict import verdict_of
from synthetic import MS, fit_workload, timed, view


def started(kind: str, *, was_cut: bool) -> View:
    """Some seconds of start-up before steps of 20 ms."""
    workload = fit_workload(
        kind=kind,
        period=20 * MS,
        step=20 * MS,
        wait=0,
        detail={"epochs": 2},
        found=[timed(FrozenBatch, 20 * MS)],
    )
    seen = view(replace(workload, calls=()) if kind == "loop" else workload)
    costs = replace(seen.costs, one_off_ns=3600e9)
    return replace(seen, costs=costs, was_cut=was_cut)


def test_a_loop_that_was_ended_may_have_gone_on_for_days() -> None:
    assert verdict_of(started("loop", was_cut=True), (), ())[0] != "start-up-bound"


def test_a_loop_that_ended_by_itself() -> None:
    assert verdict_of(started("loop", was_cut=False), (), ())[0] == "start-up-bound"


def test_a_fit_says_how_long_it_would_be() -> None:
    assert verdict_of(started("fit", was_cut=True), (), ())[0] == "start-up-bound"
