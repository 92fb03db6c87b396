from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.loop import LoopLines, LoopShare, RepeatedCall
from fitdoctor.findings.place import Where
from fitdoctor.rules.host.host_sync import RULE
from synthetic import MS, fit_workload, timed, view

READ = (("/user/train.py", 31, "float(loss)", 90),)


def loop(
    reads: float,
    step: float,
    *,
    backend: str = "jax",
    seen: bool = True,
    cores: float = 0.0,
):
    """Iterations of 20 ms, of which a part waits for a value; the step by itself as given.

    `cores`: that the step keeps busy; a device of its own leaves all to Python.
    """

    def share(part: float, hot: tuple[tuple[str, int, str, int], ...] = ()) -> LoopShare:
        return LoopShare(ns=round(part * 2e9), samples=round(part * 500), lines=hot)

    watched = LoopLines(
        share(0.0), share(1 - reads), share(0.0), iterations=40, reads=share(reads, READ)
    )
    workload = fit_workload(
        kind="loop",
        period=20 * MS,
        step=2 * MS,
        wait=None,
        detail={"marker": "jax.jit", "backend": backend},
        found=[timed(RepeatedCall, step, own_cores=cores), *([watched] if seen else [])],
    )
    return view(workload, backend=backend)


def test_silent_where_the_loop_was_not_watched() -> None:
    assert RULE.detect(loop(0.5, 10 * MS, seen=False)) is None


def test_silent_where_the_device_computes_all_the_time() -> None:
    # Waiting for it costs nothing: 19 of 20 ms are the step.
    assert RULE.detect(loop(0.9, 19 * MS)) is None


def test_silent_where_the_host_is_busy_all_the_time() -> None:
    assert RULE.detect(loop(0.05, 1 * MS)) is None


def test_silent_where_the_host_has_next_to_nothing_to_do() -> None:
    # The step alone was faster than in the loop, for another reason than turns.
    assert RULE.detect(loop(0.98, 16 * MS)) is None


def test_silent_where_the_step_needs_all_cores() -> None:
    # Side by side, Python would take them from it.
    assert RULE.detect(loop(0.5, 10 * MS, cores=64.0)) is None


def test_fires_where_host_and_device_take_turns() -> None:
    found = RULE.detect(loop(0.5, 10 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(2.0, rel=0.1)
    assert found.where == Where("/user/train.py", 31)
    assert "float(loss) (train.py:31)" in found.message
    assert found.how == "modelled"


def test_the_longer_of_the_two_is_left() -> None:
    found = RULE.detect(loop(0.3, 5 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(20 / 14, rel=0.1)
