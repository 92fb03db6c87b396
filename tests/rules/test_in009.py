from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.findings.edits import CastBefore, OneFit
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.array_conversion import RULE
from synthetic import MS, fit_workload, restarted_epochs, view, windows


def calls(*, start_up: int, as_is: int, cast: int, cast_bytes: int = 10**8, count: int = 5, **more):
    measured = {
        "bytes": 2 * 10**8,
        "cast_bytes": cast_bytes,
        "dtypes": ["float64"] if cast_bytes else ["float32"],
        "floatx": "float32",
        "as_is_ns": as_is,
        "cast_before_ns": cast,
        **more,
    }
    one = fit_workload(
        period=10 * MS,
        steps=20,
        probes={"frozen_batch": windows(9 * MS), "array_conversion": measured},
    )
    row = replace(one.calls[0], start_up=start_up, dur=20 * 10 * MS + start_up)
    blocks = tuple(replace(one.blocks[0], call=i) for i in range(count))
    return replace(one, calls=(row,) * count, blocks=blocks)


def test_silent_for_a_single_call() -> None:
    workload = calls(start_up=600 * MS, as_is=500 * MS, cast=100 * MS, count=1)
    assert RULE.detect(view(workload)) is None


def test_silent_when_the_arrays_do_not_explain_the_start_up() -> None:
    workload = calls(start_up=600 * MS, as_is=50 * MS, cast=40 * MS)
    assert RULE.detect(view(workload)) is None


def test_silent_without_the_probe() -> None:
    assert RULE.detect(view(fit_workload())) is None


def test_casting_once_saves_the_cast() -> None:
    found = RULE.detect(view(calls(start_up=600 * MS, as_is=550 * MS, cast=100 * MS)))
    assert found is not None
    # Per call 200 ms of steps and 600 ms of start-up (four of five calls), 450 ms of it a cast.
    assert found.gain.value == pytest.approx(680 / (680 - 360), rel=0.1)
    assert 'astype("float32")' in found.cure.summary
    assert found.where.line == 88


def test_arrays_of_the_right_type_are_copied_once_in_one_call() -> None:
    workload = calls(start_up=600 * MS, as_is=500 * MS, cast=500 * MS, cast_bytes=0)
    found = RULE.detect(view(workload))
    assert found is not None
    assert "fit once" in found.cure.summary
    assert found.cure.edits == (OneFit(Where("/user/train.py", 88)),)
    assert found.cure.safety == "unsafe"
    assert found.gain.value > 1.5


def test_the_arrays_that_need_it_are_cast_before_the_loop() -> None:
    found = RULE.detect(view(calls(start_up=600 * MS, as_is=550 * MS, cast=100 * MS)))
    assert found.cure.edits == ()
    known = calls(start_up=600 * MS, as_is=550 * MS, cast=100 * MS, cast_arguments=["x", "y"])
    where = Where("/user/train.py", 88)
    assert RULE.detect(view(known)).cure.edits == (
        CastBefore(where, "fit", "x", 0, "float32"),
        CastBefore(where, "fit", "y", 1, "float32"),
    )


def test_slow_first_steps_go_with_the_calls_that_begin_them() -> None:
    workload = calls(start_up=600 * MS, as_is=500 * MS, cast=500 * MS, cast_bytes=0)
    slower = dict(workload.probes)
    slower["frozen_batch"] = replace(slower["frozen_batch"], data=windows(4 * MS))
    usual, few_steps = (
        RULE.detect(view(workload)),
        RULE.detect(view(replace(workload, probes=slower))),
    )
    # 5 ms more of each step: it takes 9 ms behind the start of a call, and 4 ms on its own.
    saved = few_steps.saves["step"].value - usual.saves["step"].value
    assert saved == pytest.approx(5 * MS)
    assert few_steps.saves["step"].low == 0.0


def in_every_epoch(*, as_is: int, cast: int, cast_bytes: int = 10**8):
    """A fit on JAX: epochs of 40 steps of 10 ms, and 100 ms between them."""
    measured = {
        "bytes": 2 * 10**8,
        "cast_bytes": cast_bytes,
        "dtypes": ["float64"],
        "floatx": "float32",
        "per_epoch": 2,
        "as_is_ns": as_is,
        "cast_before_ns": cast,
    }
    probes = {"frozen_batch": windows(9 * MS), "array_conversion": measured}
    return restarted_epochs(0, ending=100 * MS, epochs=10, backend="jax", probes=probes)


def test_silent_where_epochs_only_slice_the_arrays() -> None:
    assert RULE.detect(view(in_every_epoch(as_is=1 * MS, cast=1 * MS, cast_bytes=0))) is None
    assert RULE.detect(view(in_every_epoch(as_is=5 * MS, cast=1 * MS))) is None


def test_a_cast_before_and_after_every_epoch_is_found_in_a_single_call() -> None:
    found = RULE.detect(view(in_every_epoch(as_is=46 * MS, cast=1 * MS)))
    assert found is not None
    # 19 casts of 45 ms in ten epochs (the first belongs to the start of the call), of 4.9 s in all.
    assert found.gain.value == pytest.approx(4.9 / (4.9 - 19 * 0.045), rel=0.02)
    assert "2 times in every epoch" in found.message
    assert "astype" in found.cure.summary


def test_one_call_is_advised_where_it_gives_clearly_more_than_a_cast() -> None:
    # The copy that stays after the cast is most of the start-up.
    found = RULE.detect(view(calls(start_up=600 * MS, as_is=300 * MS, cast=250 * MS)))
    assert found is not None
    assert "fit once" in found.cure.summary
    assert "astype" in found.cure.summary
    assert found.cure.edits == (OneFit(Where("/user/train.py", 88)),)
    assert found.gain.value > 2.0
