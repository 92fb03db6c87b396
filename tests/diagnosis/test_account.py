"""Every nanosecond of a step has an owner, and the rows sum to the step."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare
from fitdoctor.contract.evidence.model import Layers, MachineCeiling
from fitdoctor.contract.evidence.operations import Operations, OperationTime
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import CallbackTotal
from fitdoctor.diagnosis import diagnose
from fitdoctor.diagnosis.account import account_of, unexplained
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from synthetic import MS, fit_workload, layer, recording, timed, view

PARTS = ("step", "input_wait", "callbacks", "validation", "between_calls", "compile", "elsewhere")


def finding(rule: str, where: Where | None = None, **saves: float) -> Finding:
    saved = {part: Interval.exact(ns) for part, ns in saves.items()}
    return Finding(rule, "x", where, "", Interval.exact(2.0), Cure("advice", ""), saves=saved)


@st.composite
def workloads(draw: st.DrawFn):
    """Fits and loops with whatever was seen of them."""
    shares = st.floats(0.0, 1.0)
    period = draw(st.integers(1, 500)) * MS
    is_loop = draw(st.booleans())
    found: list[object] = []
    if draw(st.booleans()):
        found.append(timed(FrozenBatch, max(1.0, draw(shares) * period)))
    if draw(st.booleans()):
        rows = tuple(
            OperationTime(op="MatMul", layer=name, within=name, ns=draw(shares) * period)
            for name in draw(st.lists(st.sampled_from(["a", "b", None]), max_size=3))
        )
        found.append(Operations(5, float(period), draw(shares) * period, 100.0, rows=rows))
    if draw(st.booleans()):
        found.append(Layers((layer("a", draw(shares) * period, alone=draw(shares) * period + 1),)))
        found.append(MachineCeiling(flops_per_s=50e9, bytes_per_s=10e9))
    if is_loop and draw(st.booleans()):
        parts = [
            LoopShare(
                ns=draw(st.integers(0, 10**9)),
                samples=draw(st.integers(0, 300)),
                lines=(("/u/t.py", 3, "f", draw(st.integers(1, 9))),),
            )
            for _ in range(4)
        ]
        found.append(LoopLines(*parts[:3], iterations=20, reads=parts[3]))
    callbacks = round(draw(shares) * period * 0.5)
    return fit_workload(
        period=period,
        step=max(1, round(draw(shares) * period)),
        wait=draw(st.sampled_from([None, 0, round(draw(shares) * period * 0.5)])),
        callbacks=0 if is_loop else callbacks,
        callback_totals=(CallbackTotal("Mine", "batch", 200, callbacks * 200, "/u/t.py", 9),),
        kind="loop" if is_loop else "fit",
        detail={"marker": draw(st.sampled_from(["optimizer", "tf.data"]))} if is_loop else {},
        found=found,
    )


@given(
    workloads(),
    st.lists(
        st.tuples(st.sampled_from(PARTS), st.floats(0.0, 2e9), st.sampled_from([3, 9, None])),
        max_size=4,
    ),
)
def test_the_rows_sum_to_the_step_whoever_owns_them(workload, savings) -> None:
    seen = view(workload)
    findings = [
        finding(f"X{n}", None if line is None else Where("/u/t.py", line), **{part: ns})
        for n, (part, ns, line) in enumerate(savings)
    ]
    rows = account_of(seen, findings)
    total = sum(seen.costs.parts.values())
    assert math.isclose(sum(row.ns for row in rows), total, rel_tol=1e-6, abs_tol=1.0)
    assert all(row.ns >= 0 for row in rows)
    assert all(row.floor_ns is None or row.floor_ns <= row.ns + 1 for row in rows)
    assert 0.0 <= unexplained(rows) <= 1.0 + 1e-9


def test_a_finding_owns_what_its_cure_takes_away() -> None:
    seen = view(fit_workload(period=10 * MS, step=4 * MS, wait=6 * MS))
    rows = account_of(seen, [finding("IN002", input_wait=5 * MS)])
    owned = [row for row in rows if row.owner == "IN002"]
    assert sum(row.ns for row in owned) == pytest.approx(5 * MS)
    assert {row.state for row in owned} == {"waste"}
    left = [row for row in rows if row.part == "input_wait" and row.owner is None]
    assert sum(row.ns for row in left) == pytest.approx(MS)


def test_the_place_of_a_finding_is_taken_first() -> None:
    totals = (
        CallbackTotal("Large", "batch", 200, 5 * MS * 200, "/u/t.py", 9),
        CallbackTotal("Small", "batch", 200, MS * 200, "/u/t.py", 3),
    )
    seen = view(fit_workload(step=3 * MS, callbacks=6 * MS, callback_totals=totals))
    rows = account_of(seen, [finding("CB001", Where("/u/t.py", 3), callbacks=MS)])
    (owned,) = [row for row in rows if row.owner == "CB001"]
    assert owned.what == "Small"


def test_healthy_is_earned_by_kernels() -> None:
    rows = tuple(
        OperationTime(op="Conv2D", layer=name, within=name, ns=45 * MS) for name in ("a", "b")
    )
    profile = Operations(5, 100.0 * MS, 5.0 * MS, 300.0, rows=rows, kernels=("a", "b"))
    workload = fit_workload(
        period=100 * MS, step=99 * MS, found=[timed(FrozenBatch, 99 * MS), profile]
    )
    judged = diagnose(recording(workload)).workloads[0]
    assert judged.verdict == "at-ceiling"
    assert unexplained(judged.account) < 0.2
    assert "is unexplained" in judged.sentence


def test_what_no_rule_explains_is_not_healthy() -> None:
    # A recurrent layer is most of the step, far above what its arithmetic needs.
    lstm = layer("lstm", 30 * MS, alone=90 * MS, type="LSTM")
    rows = (OperationTime(op="mm", layer="lstm", within="lstm", ns=95 * MS),)
    profile = Operations(5, 100.0 * MS, 5.0 * MS, 300.0, rows=rows)
    found = [
        timed(FrozenBatch, 99 * MS),
        profile,
        Layers((lstm,)),
        MachineCeiling(flops_per_s=50e9, bytes_per_s=10e9),
    ]
    workload = fit_workload(period=100 * MS, step=99 * MS, found=found)
    judged = diagnose(recording(workload), rules=[]).workloads[0]
    assert judged.verdict == "compute-bound"
    assert "lstm (LSTM)" in judged.sentence
    assert "no rule names the cause" in judged.sentence


def profiled_fit(outside_ns: float, idle_ns: float, operations: float = 300.0):
    """100 ms steps of a convolution, something outside of the layers, and idle time."""
    conv = OperationTime(op="Conv2D", layer="a", within="a", ns=100 * MS - outside_ns - idle_ns)
    rows = (conv, OperationTime(op="Mul", ns=outside_ns))
    profile = Operations(5, 100.0 * MS, idle_ns, operations, rows=rows, kernels=("a",))
    ceiling = MachineCeiling(flops_per_s=50e9, bytes_per_s=10e9, op_start_ns=2000.0)
    found = [timed(FrozenBatch, 99 * MS), profile, ceiling]
    made = fit_workload(period=100 * MS, step=99 * MS, found=found)
    return diagnose(recording(made), rules=[]).workloads[0]


def test_an_ordinary_loss_is_no_reason_to_doubt() -> None:
    assert profiled_fit(20 * MS, 2 * MS).verdict == "at-ceiling"


def test_most_of_a_step_outside_of_the_layers_is_not_healthy() -> None:
    judged = profiled_fit(70 * MS, 2 * MS)
    assert judged.verdict == "compute-bound"
    assert "loss, metrics and the rest" in judged.sentence


def test_idle_time_that_starts_cannot_explain_belongs_to_the_operations() -> None:
    judged = profiled_fit(0, 40 * MS)  # 300 starts of 2 µs are 0.6 ms
    assert judged.verdict == "at-ceiling"
    starting = [row for row in judged.account if row.what == "between operations"]
    assert sum(row.ns for row in starting) < 10 * MS


def test_idle_time_of_very_many_operations_is_not_healthy() -> None:
    assert profiled_fit(0, 40 * MS, operations=20_000).verdict == "compute-bound"


def test_the_json_has_every_row() -> None:
    seen = view(fit_workload(wait=5 * MS, step=4 * MS))
    first = account_of(seen, [finding("IN002", input_wait=5 * MS)])[0].to_json()
    assert first == {
        "what": "input_wait",
        "part": "input_wait",
        "where": None,
        "ns_per_step": 5 * MS,
        "floor_ns": 0,
        "owner": "IN002",
        "state": "waste",
    }
