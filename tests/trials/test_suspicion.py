from __future__ import annotations

from dataclasses import replace

from fitdoctor.contract.evidence.device import Device
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.operations import Operations, OperationTime
from fitdoctor.contract.evidence.step import FrozenBatch, Threads
from fitdoctor.contract.options import ForcedSettings
from fitdoctor.contract.records import Recording
from fitdoctor.trials.suspicion import suspected
from synthetic import MS, fit_workload, loader, recording, timed


def with_threads(asked: int | None, allowed: int):
    return recording(fit_workload(found=[Threads(asked, allowed, "tensorflow")]))


def test_nothing_to_try_where_threads_fit_the_cores() -> None:
    assert suspected(with_threads(None, 2)) == []
    assert suspected(with_threads(2, 2)) == []


def test_the_own_backend_is_not_tried() -> None:
    assert suspected(with_threads(2, 2), ("tensorflow",)) == []


def test_more_threads_than_cores_are_tried() -> None:
    (trial,) = suspected(with_threads(32, 1))
    assert trial.forced == ForcedSettings(threads=1)
    assert trial.reason == "32 threads are asked for on 1 allowed core"


def test_other_backends_when_asked_for() -> None:
    (trial,) = suspected(with_threads(2, 2), ("jax",))
    assert trial.forced == ForcedSettings(backend="jax")


def test_a_script_that_ended_by_itself_is_tried_too() -> None:
    ended = replace(with_threads(32, 1), examined=False, exit_code=0)
    assert len(suspected(ended)) == 1


def test_a_script_that_failed_is_not_run_again() -> None:
    assert suspected(replace(with_threads(32, 1), examined=False, exit_code=1)) == []
    assert suspected(replace(with_threads(32, 1), examined=False, exit_code=None)) == []


def on_the_gpu(kind: str, loading: float):
    found = (
        InputFacts(kind=kind),
        Device(kind="gpu"),
        timed(FrozenBatch, 0.4 * MS),
        loader(loading),
    )
    return recording(fit_workload(period=20 * MS, step=1 * MS, wait=19 * MS, found=found))


def test_no_other_device_where_the_loader_is_the_limit() -> None:
    assert suspected(on_the_gpu("PyDataset", 18 * MS)) == []


def test_the_cpu_is_tried_where_steps_are_short() -> None:
    (trial,) = suspected(on_the_gpu("PyDataset", 2 * MS))
    assert trial.forced == ForcedSettings(device="cpu")


def test_arrays_are_picked_on_the_device() -> None:
    assert len(suspected(on_the_gpu("arrays", 18 * MS))) == 1


def test_no_cpu_where_the_gpu_computes_most_of_the_step() -> None:
    def seen(each_ns: float, count: float) -> Recording:
        row = OperationTime(op="gemm", ns=each_ns * count, count=count)
        profile = Operations(10, 2 * MS, 0.0, count, rows=(row,), on_device=True)
        found = (Device(kind="gpu"), timed(FrozenBatch, 2 * MS), profile)
        return recording(fit_workload(period=2 * MS, step=2 * MS, found=found))

    assert suspected(seen(60_000, 30)) == []
    assert len(suspected(seen(1_500, 1_200))) == 1
