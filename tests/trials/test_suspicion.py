from __future__ import annotations

from dataclasses import replace

from fitdoctor.trials.suspicion import suspected
from synthetic import fit_workload, recording


def with_threads(asked: int | None, allowed: int):
    probes = {"threads": {"asked": asked, "allowed": allowed}}
    return recording(fit_workload(probes=probes))


def test_nothing_to_try_where_threads_fit_the_cores() -> None:
    assert suspected(with_threads(None, 2)) == []
    assert suspected(with_threads(2, 2)) == []


def test_the_own_backend_is_not_tried() -> None:
    assert suspected(with_threads(2, 2), ("tensorflow",)) == []


def test_more_threads_than_cores_are_tried() -> None:
    (trial,) = suspected(with_threads(32, 1))
    assert trial.forced == {"threads": 1}
    assert trial.reason == "32 threads are asked for on 1 allowed core"


def test_other_backends_when_asked_for() -> None:
    (trial,) = suspected(with_threads(2, 2), ("jax",))
    assert trial.forced == {"backend": "jax"}


def test_a_script_that_ended_by_itself_is_tried_too() -> None:
    ended = replace(with_threads(32, 1), examined=False, exit_code=0)
    assert len(suspected(ended)) == 1


def test_a_script_that_failed_is_not_run_again() -> None:
    assert suspected(replace(with_threads(32, 1), examined=False, exit_code=1)) == []
    assert suspected(replace(with_threads(32, 1), examined=False, exit_code=None)) == []
