from __future__ import annotations

from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare, RepeatedCall
from fitdoctor.diagnosis.one_cause import one_cause_each
from fitdoctor.findings.place import Where
from fitdoctor.intervals import Interval
from fitdoctor.rules import all_rules
from fitdoctor.rules.host.own_code import RULE
from synthetic import MS, call_group, fit_workload, timed, view

HOT = (
    ("/user/train.py", 41, "confusion", 60),
    ("/user/train.py", 55, "log", 20),
    ("/user/train.py", 7, "<module>", 1),
)


def lines(own: float, *, cores: float = 1.0, samples: int = 500) -> LoopLines:
    def share(part: float, hot: tuple[tuple[str, int, str, int], ...] = ()) -> LoopShare:
        ns = round(part * 2e9)
        return LoopShare(ns=ns, cpu_ns=round(ns * cores), samples=round(part * samples), lines=hot)

    return LoopLines(share(0.0), share(1 - own), share(own, HOT), iterations=40)


def loop(own: float, *found: object, backend: str = "torch", **more: float):
    workload = fit_workload(
        kind="loop",
        period=20 * MS,
        step=2 * MS,
        wait=None,
        detail={"marker": "optimizer", "backend": backend},
        found=[lines(own, **more), *found],
    )
    return view(workload, backend=backend)


def test_silent_where_the_loop_was_not_watched() -> None:
    workload = fit_workload(kind="loop", wait=None, detail={"marker": "optimizer"})
    assert RULE.detect(view(workload)) is None


def test_silent_on_a_little_code() -> None:
    assert RULE.detect(loop(0.1)) is None


def test_silent_on_code_that_the_device_hides() -> None:
    # JAX computes for 19 of 20 ms while the host runs 12 ms of its own code.
    hidden = loop(0.6, timed(RepeatedCall, 19 * MS), backend="jax")
    assert RULE.detect(hidden) is None


def test_silent_beside_a_finding_that_explains_the_same_time() -> None:
    found = RULE.detect(loop(0.6))
    assert found is not None
    special = replace(
        found, rule="HO001", how="tried", saves={"between_calls": Interval.exact(1.0)}
    )
    assert one_cause_each((special, found), all_rules()) == (special,)


def test_fires_with_a_bound_and_the_hottest_lines() -> None:
    found = RULE.detect(loop(0.6))
    assert found is not None
    assert found.how == "bound"
    assert found.gain.value == pytest.approx(1 / 0.4, rel=0.02)
    assert found.gain.low == 1.0
    assert found.where == Where("/user/train.py", 41)
    assert "train.py:41 in confusion, 12 %" in found.message
    assert "every Nth step" in found.cure.summary
    assert found.to_json()["gain"]["how"] == "bound"


def test_only_what_the_device_does_not_hide_counts() -> None:
    # 12 ms of own code, and the device needs 15 of the 20 ms.
    found = RULE.detect(loop(0.6, timed(RepeatedCall, 15 * MS), backend="jax"))
    assert found is not None
    assert found.gain.value == pytest.approx(20 / 15, rel=0.02)


def test_code_that_waits_is_told_from_code_that_works() -> None:
    found = RULE.detect(loop(0.6, cores=0.05))
    assert found is not None
    assert "mostly waits" in found.cure.summary


def test_between_calls_of_train_on_batch_too() -> None:
    calls = call_group(kind="train_on_batch", period=20 * MS, duration=8 * MS, found=[lines(0.6)])
    found = RULE.detect(view(calls))
    assert found is not None
    assert "per call" in found.message


@pytest.mark.parametrize(
    ("call", "instead"),
    [("clone_model", "once, before the loop"), ("set_weights", "compiled function")],
)
def test_calls_that_look_after_a_model_get_their_own_advice(call: str, instead: str) -> None:
    plain = RULE.detect(loop(0.6))
    assert plain is not None and instead not in plain.cure.summary
    seen = lines(0.6)
    hot = replace(seen.own, lines=(("/user/train.py", 41, call, 60),))
    workload = fit_workload(
        kind="loop",
        period=20 * MS,
        step=2 * MS,
        wait=None,
        detail={"marker": "optimizer", "backend": "torch"},
        found=[replace(seen, own=hot)],
    )
    found = RULE.detect(view(workload, backend="torch"))
    assert found is not None and instead in found.cure.summary
