from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.model import ChangedCopy, UnrolledLayers
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.edits import DropKeyword
from fitdoctor.findings.place import ANYWHERE, Where
from fitdoctor.rules.compilation.exploding_trace import RULE
from synthetic import MS, fit_workload, timed, view, with_found

NS_PER_S = 10**9


def started(first: int, *, epochs: int = 1, rolled: bool = True, traced: int = 0):
    """16 steps of 20 ms in an epoch, after a start of `first` nanoseconds."""
    found: list[object] = [timed(FrozenBatch, 20 * MS), UnrolledLayers(("GRU", "LSTM"))]
    if rolled:
        found += [
            ("as_is", timed(ChangedCopy, 20 * MS)),
            ("rolled", timed(ChangedCopy, 40 * MS, first_ns=NS_PER_S)),
        ]
    trace = Event("trace", 1, traced, 0, 0, EventDetail(name="train_step"))
    workload = fit_workload(
        period=20 * MS,
        step=20 * MS,
        steps=16,
        detail={"epochs": epochs},
        found=found,
        events=(trace,) if traced else (),
    )
    return view(replace(workload, calls=(replace(workload.calls[0], start_up=first),)))


def test_silent_on_a_usual_start() -> None:
    assert RULE.detect(started(NS_PER_S)) is None


def test_silent_on_a_long_run() -> None:
    assert RULE.detect(started(10 * NS_PER_S, epochs=5000)) is None


def test_silent_where_the_start_is_not_tracing() -> None:
    assert RULE.detect(started(10 * NS_PER_S, rolled=False)) is None


def test_the_whole_run_is_priced() -> None:
    finding = RULE.detect(started(10 * NS_PER_S))
    assert finding is not None
    # 10 s and 16 steps of 20 ms, against 1 s and 16 steps of 40 ms.
    assert finding.gain.value == pytest.approx(10.32 / 1.64, rel=0.05)
    assert finding.saves == {}
    assert "pay off after 450 steps" in finding.cure.summary


def test_unroll_is_dropped_from_the_layers_that_have_it() -> None:
    finding = RULE.detect(started(10 * NS_PER_S))
    assert finding is not None
    anywhere = Where("/user/train.py", ANYWHERE)
    assert finding.cure.edits == (
        DropKeyword(anywhere, "GRU", "unroll"),
        DropKeyword(anywhere, "LSTM", "unroll"),
    )
    words = [edit.in_words() for edit in finding.cure.edits]
    assert words == ["remove unroll from GRU()", "remove unroll from LSTM()"]


def test_silent_on_a_model_that_is_compiled_for_long() -> None:
    # A few hundred operations: XLA took its time, and nothing exploded.
    seen = started(10 * NS_PER_S, rolled=False, traced=9 * NS_PER_S)
    assert RULE.detect(seen) is None
    few = Operations(steps=10, wall_ns=1e6, idle_ns=0.0, count=300.0)
    assert RULE.detect(replace(seen, recorded=with_found(seen.recorded, few))) is None


def test_a_long_trace_of_the_users_own_loop_is_advice_to_scan() -> None:
    seen = started(10 * NS_PER_S, rolled=False, traced=9 * NS_PER_S)
    many = Operations(steps=10, wall_ns=1e6, idle_ns=0.0, count=20_000.0)
    finding = RULE.detect(replace(seen, recorded=with_found(seen.recorded, many)))
    assert finding is not None
    assert "keras.ops.scan" in finding.cure.summary
    assert finding.cure.edits == ()
    assert finding.evidence["first_step_after_ns"] == NS_PER_S


def test_tracing_that_recurs_explains_it() -> None:
    assert RULE.explained_by == {"CO001", "CO002"}


def test_the_page_says_how_long_a_start_must_be() -> None:
    assert "at least 3 s, and 30 % or more of the whole planned run" in " ".join(RULE.page.split())
