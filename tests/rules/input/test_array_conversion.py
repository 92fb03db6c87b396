from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fitdoctor.contract.evidence.loading import ArrayConversion
from fitdoctor.contract.evidence.loop import PlacedArguments, RepeatedCall
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.records import RecordedWorkload
from fitdoctor.findings.edits import CastBefore, OneFit
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.array_conversion import RULE
from synthetic import MS, fit_workload, restarted_epochs, timed, view, with_found


def calls(
    *, start_up: int, as_is: int, cast: int, cast_bytes: int = 10**8, count: int = 5, **more: Any
) -> RecordedWorkload:
    measured = ArrayConversion(
        bytes=2 * 10**8,
        cast_bytes=cast_bytes,
        dtypes=("float64",) if cast_bytes else ("float32",),
        as_is_ns=as_is,
        cast_before_ns=cast,
        **more,
    )
    one = fit_workload(period=10 * MS, steps=20, found=[timed(FrozenBatch, 9 * MS), measured])
    row = replace(one.calls[0], start_up=start_up, dur=20 * 10 * MS + start_up)
    blocks = tuple(replace(one.blocks[0], call=i) for i in range(count))
    return replace(one, calls=(row,) * count, blocks=blocks)


def fired(workload: RecordedWorkload) -> Finding:
    found = RULE.detect(view(workload))
    assert found is not None
    return found


def test_silent_for_a_single_call() -> None:
    workload = calls(start_up=600 * MS, as_is=500 * MS, cast=100 * MS, count=1)
    assert RULE.detect(view(workload)) is None


def test_silent_when_the_arrays_do_not_explain_the_start_up() -> None:
    workload = calls(start_up=600 * MS, as_is=50 * MS, cast=40 * MS)
    assert RULE.detect(view(workload)) is None


def test_silent_without_the_probe() -> None:
    assert RULE.detect(view(fit_workload())) is None


def in_every_epoch(*, as_is: int, cast: int, cast_bytes: int = 10**8) -> RecordedWorkload:
    """A fit on JAX: epochs of 40 steps of 10 ms, and 100 ms between them."""
    measured = ArrayConversion(
        bytes=2 * 10**8,
        cast_bytes=cast_bytes,
        dtypes=("float64",),
        per_epoch=2,
        as_is_ns=as_is,
        cast_before_ns=cast,
    )
    found = (timed(FrozenBatch, 9 * MS), measured)
    return restarted_epochs(0, ending=100 * MS, epochs=10, backend="jax", found=found)


def test_silent_where_epochs_only_slice_the_arrays() -> None:
    assert RULE.detect(view(in_every_epoch(as_is=1 * MS, cast=1 * MS, cast_bytes=0))) is None
    assert RULE.detect(view(in_every_epoch(as_is=5 * MS, cast=1 * MS))) is None


def test_casting_once_saves_the_cast() -> None:
    found = fired(calls(start_up=600 * MS, as_is=550 * MS, cast=100 * MS))
    # Per call 200 ms of steps and 600 ms of start-up (four of five calls), 450 ms of it a cast.
    assert found.gain.value == pytest.approx(680 / (680 - 360), rel=0.1)
    assert 'astype("float32")' in found.cure.summary
    assert "one call of fit for all" in found.cure.summary
    assert found.where is not None
    assert found.where.line == 88


def test_arrays_of_the_right_type_are_copied_once_in_one_call() -> None:
    found = fired(calls(start_up=600 * MS, as_is=500 * MS, cast=500 * MS, cast_bytes=0))
    assert "fit once" in found.cure.summary
    assert found.cure.edits == (OneFit(Where("/user/train.py", 88)),)
    assert found.cure.safety == "unsafe"
    assert found.gain.value > 1.5


def test_the_arrays_that_need_it_are_cast_before_the_loop() -> None:
    assert fired(calls(start_up=600 * MS, as_is=550 * MS, cast=100 * MS)).cure.edits == ()
    known = calls(start_up=600 * MS, as_is=550 * MS, cast=100 * MS, cast_arguments=("x", "y"))
    where = Where("/user/train.py", 88)
    assert fired(known).cure.edits == (
        CastBefore(where, "fit", "x", 0, "float32"),
        CastBefore(where, "fit", "y", 1, "float32"),
    )


def test_slow_first_steps_go_with_the_calls_that_begin_them() -> None:
    workload = calls(start_up=600 * MS, as_is=500 * MS, cast=500 * MS, cast_bytes=0)
    usual = fired(workload)
    few_steps = fired(with_found(workload, timed(FrozenBatch, 4 * MS)))
    # 5 ms more of each step: it takes 9 ms after the start of a call, and 4 ms on its own.
    saved = few_steps.saves["step"].value - usual.saves["step"].value
    assert saved == pytest.approx(5 * MS)
    assert few_steps.saves["step"].low == 0.0


def test_a_cast_before_and_after_every_epoch_is_found_in_a_single_call() -> None:
    found = fired(in_every_epoch(as_is=46 * MS, cast=1 * MS))
    # 19 casts of 45 ms in ten epochs (the first belongs to the start of the call), of 4.9 s in all.
    assert found.gain.value == pytest.approx(4.9 / (4.9 - 19 * 0.045), rel=0.02)
    assert "2 times in every epoch" in found.message
    assert "astype" in found.cure.summary


def test_one_call_is_advised_where_it_gives_clearly_more_than_a_cast() -> None:
    # The copy that stays after the cast is most of the start-up.
    found = fired(calls(start_up=600 * MS, as_is=300 * MS, cast=250 * MS))
    assert "fit once" in found.cure.summary
    assert "astype" in found.cure.summary
    assert found.cure.edits == (OneFit(Where("/user/train.py", 88)),)
    assert found.gain.value > 2.0


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "at least 30 % of the start of each call" in " ".join(RULE.page.split())
    assert "50 steps or fewer" in " ".join(RULE.page.split())


def loop_given(placed: float, as_is: float = 20 * MS) -> RecordedWorkload:
    """A loop whose compiled step gets the same array in every call."""
    tried = timed(
        PlacedArguments, placed, base_ns=(as_is,) * 8, bytes=10**8, shapes=("float32[60000, 512]",)
    )
    return fit_workload(
        kind="loop",
        period=20 * MS,
        step=20 * MS,
        wait=None,
        detail={"marker": "jax.jit", "backend": "jax"},
        found=[timed(RepeatedCall, as_is), tried],
    )


def test_silent_where_handing_an_array_over_costs_nothing() -> None:
    assert RULE.detect(view(loop_given(19 * MS), backend="jax")) is None


def test_a_loop_that_hands_the_same_array_over_in_every_call() -> None:
    found = RULE.detect(view(loop_given(2 * MS), backend="jax"))
    assert found is not None
    assert found.how == "tried"
    assert found.gain.value == pytest.approx(10, rel=0.2)
    assert "float32[60000, 512]" in found.message
    assert "device_put" in found.cure.summary
