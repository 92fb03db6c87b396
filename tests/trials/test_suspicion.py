from __future__ import annotations

from dataclasses import replace

from fitdoctor.trials.suspicion import suspected
from synthetic import MS, fit_workload, loader, recording, windows


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


def on_the_gpu(kind: str, loading: float):
    probes = {
        "input": {"kind": kind},
        "device": {"kind": "gpu", "replicas": 1},
        "frozen_batch": windows(0.4 * MS),
        "loader_alone": loader(loading),
    }
    return recording(fit_workload(period=20 * MS, step=1 * MS, wait=19 * MS, probes=probes))


def test_no_other_device_where_the_loader_is_the_limit() -> None:
    assert suspected(on_the_gpu("PyDataset", 18 * MS)) == []


def test_the_cpu_is_tried_where_steps_are_short() -> None:
    (trial,) = suspected(on_the_gpu("PyDataset", 2 * MS))
    assert trial.forced == {"device": "cpu"}


def test_arrays_are_picked_on_the_device() -> None:
    assert len(suspected(on_the_gpu("arrays", 18 * MS))) == 1
