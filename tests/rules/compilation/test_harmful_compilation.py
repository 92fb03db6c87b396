from __future__ import annotations

import pytest

from fitdoctor.analysis.build_view import view_of
from fitdoctor.contract.evidence.step import FrozenBatch, WithoutJit
from fitdoctor.contract.records import Event, EventDetail
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.compilation.harmful_compilation import RULE
from synthetic import MS, fit_workload, recording, timed, view


def without_jit(ns: float, *, total: int = 20 * MS, **more):
    """A frozen step of 20 ms with jit, and `ns` without it."""
    found = [timed(FrozenBatch, 20 * MS), timed(WithoutJit, ns)]
    return view(fit_workload(period=total, step=20 * MS, found=found), **more)


def test_silent_where_nothing_was_tried() -> None:
    assert RULE.detect(view(fit_workload(found=[timed(FrozenBatch, 20 * MS)]))) is None


def test_jit_that_helps_is_left_alone() -> None:
    assert RULE.detect(without_jit(30 * MS)) is None


def test_silent_on_jax_which_always_compiles() -> None:
    assert RULE.detect(without_jit(10 * MS, backend="jax")) is None


def test_silent_where_the_step_is_a_small_part() -> None:
    assert RULE.detect(without_jit(10 * MS, total=2000 * MS)) is None


def test_jit_that_hurts() -> None:
    finding = RULE.detect(without_jit(10 * MS))
    assert finding is not None
    assert finding.gain.value == pytest.approx(2, rel=0.05)
    assert finding.cure.safety == "unsafe"
    assert finding.cure.edits == ()
    assert finding.where == Where("/user/train.py", 88)


def test_jit_is_switched_off_where_this_model_was_compiled_last() -> None:
    workload = fit_workload(
        period=20 * MS,
        step=20 * MS,
        found=[timed(FrozenBatch, 20 * MS), timed(WithoutJit, 10 * MS)],
        detail={"model_number": 1},
    )
    events = tuple(
        Event("compile_call", t, MS, None, None, EventDetail(file="/user/m.py", line=t, model=m))
        for t, m in ((4, 1), (6, 1), (8, 2))
    )
    seen = view_of(recording(workload, events=events), workload)
    assert seen is not None
    finding = RULE.detect(seen)
    assert finding is not None
    where = Where("/user/m.py", 6)
    assert finding.where == where
    assert finding.cure.edits == (SetKeyword(where, "compile", "jit_compile", "False"),)
