"""All input cures together: which tried plan becomes a cure, and its edits."""

from __future__ import annotations

from typing import Any

from fitdoctor.contract.evidence.pipeline import StageTime
from fitdoctor.contract.evidence.plans import InputPlan, InputPlans, TriedPlan
from fitdoctor.diagnosis.input_plan import input_plan
from fitdoctor.findings.edits import ArrangeCalls, DatasetOption, SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from synthetic import MS, slow_pipeline, stage, tried, view

GB = 10**9
STAGES = (
    stage("batch", 0),
    stage("map", 1),
    stage("filter", 2),
    stage("map", 3),
    stage("range", 4, inputs=()),
)


def row(ns: float, *, order: tuple[int, ...] = (0, 1, 2, 3), **more: Any) -> TriedPlan:
    plan = {name: more.pop(name) for name in ("calls", "pool", "cache_after") if name in more}
    return tried(TriedPlan, ns, 30 * MS, plan=InputPlan(order=order, **plan), **more)


def planned(
    *rows: TriedPlan, findings: tuple[Finding, ...] = (), loader_ns: float = 30 * MS, **detail: Any
) -> Finding | None:
    times = [
        StageTime(n=3, per_batch=64.0, ns=1, cpu_ns=1, own_ns=1, own_cpu_ns=1, element_bytes=1000)
    ]
    plans = InputPlans(rows=rows, available_bytes=8 * GB)
    workload = slow_pipeline(*STAGES, rows=times, loader_ns=loader_ns, found=[plans], detail=detail)
    return input_plan(view(workload), findings)


def single(gain: float) -> Finding:
    cure = Cure("safe", "x", (SetKeyword(at := _where(), "map", "k", "1"),))
    return Finding("IN004", "x", at, "", Interval.exact(gain), cure)


def _where() -> Any:
    from fitdoctor.findings.place import Where

    return Where("/user/data.py", 1)


def test_nothing_where_nothing_was_tried_or_helped() -> None:
    assert planned() is None
    assert planned(row(31 * MS)) is None
    assert planned(row(29.9 * MS)) is None
    assert planned(row(5 * MS), loader_ns=1 * MS) is None  # training does not wait


def test_nothing_where_one_cure_does_as_much() -> None:
    assert planned(row(10 * MS), findings=(single(3.0),)) is None
    assert planned(row(10 * MS), findings=(single(2.0),)) is not None


def test_a_cache_needs_several_passes_and_memory() -> None:
    cached = row(1 * MS, cache_after=3, cache_bytes=1e6)
    assert planned(cached, epochs=1) is None
    assert planned(row(1 * MS, cache_after=3, cache_bytes=6.0 * GB)) is None
    found = planned(cached)
    assert found is not None
    assert found.how == "tried"
    assert ".cache() after map (line 103)" in found.cure.summary


def test_the_safe_plan_comes_first_and_a_faster_one_beside_it() -> None:
    found = planned(row(5 * MS, redraws=True), row(15 * MS))
    assert found is not None
    assert (found.cure.safety, [one.cure.safety for one in found.also]) == ("safe", ["unsafe"])
    assert found.also[0].gain.value > found.gain.value
    same = planned(row(5 * MS, keeps_order=False), row(5 * MS))
    assert same is not None
    assert (same.cure.safety, same.also) == ("safe", ())


def test_edits_move_cache_and_set_together() -> None:
    plan = row(5 * MS, order=(1, 0, 3, 2), calls=((1, 16),), pool=16, cache_after=0)
    found = planned(plan, steps_per_epoch=100)
    assert found is None  # of the cached stage, no size is known
    found = planned(row(5 * MS, order=(1, 0, 3, 2), calls=((1, 16),), pool=16))
    assert found is not None
    keyword, pool, moves = found.cure.edits
    assert isinstance(keyword, SetKeyword)
    assert (keyword.where.line, keyword.value) == (101, "16")
    assert isinstance(pool, DatasetOption)
    assert isinstance(moves, ArrangeCalls)
    assert moves.calls == ((103, "map"), (102, "filter"), (101, "map"), (100, "batch"))
    assert moves.order == (1, 0, 3, 2)
    assert moves.cached is None


def test_a_plan_without_places_is_advice_in_words() -> None:
    found = planned(row(5 * MS, calls=((4, -1),)))
    assert found is not None
    assert found.cure.edits == ()
