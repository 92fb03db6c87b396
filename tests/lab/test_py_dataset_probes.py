"""The probes of a PyDataset: when each is wanted, and what it finds."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from input_context import alone, fit_context

from fitdoctor.contract.evidence.loading import BatchInProcess
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.inside.lab.apparatus.windows import Patience, measuring_with
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probes import adapter_floor, in_process, worker_threads
from fitdoctor.inside.lab.probes.adapter_floor import HandOverOneBatch
from fitdoctor.inside.lab.probes.in_process import MakeInThisThread
from fitdoctor.inside.lab.probes.same_batches import MOST_COMPARED, MakeTwice, same_batches
from fitdoctor.inside.lab.probes.worker_threads import (
    MoreThreadsForWaits,
    MoreThreadsForWork,
    is_native,
)
from fitdoctor.inside.ledger.cpu import cores_by_affinity

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def base() -> Any:
    return importlib.import_module("keras").utils.PyDataset


def rows(base: Any, make: Any, length: int = 100, **more: Any) -> Any:
    def getitem(self: Any, index: int) -> Any:
        return np.full((4, 2), make(index), "float32"), np.zeros(4)

    members = {"__len__": lambda self: length, "__getitem__": getitem, **more}
    return type("Rows", (base,), members)()


@pytest.mark.parametrize(
    "make",
    [
        lambda index: np.random.default_rng().normal(),
        lambda index: 0 * np.random.normal(),  # drawn, if to no effect
        lambda index: 0 * random.random(),
    ],
    ids=["own generator", "numpy", "python"],
)
def test_random_batches_are_not_the_same(base: Any, make: Any) -> None:
    assert same_batches(rows(base, make)).same is False


def test_one_that_differs_among_many_is_found(base: Any) -> None:
    calls = iter(range(10**6))
    found = same_batches(rows(base, lambda index: next(calls) if index == 60 else index))
    assert found.same is False


def test_hooks_that_may_change_the_next_epoch_are_told(base: Any) -> None:
    found = same_batches(rows(base, float, on_epoch_end=lambda self: None))
    assert found.same is True
    assert found.hooks == ("on_epoch_end",)


def test_an_object_without_a_hash_is_told(base: Any) -> None:
    found = same_batches(rows(base, float, __eq__=lambda self, other: True, __hash__=None))
    assert found.hashable is False


@pytest.mark.parametrize("length", [1, 7, 100])
def test_the_same_batches(base: Any, length: int) -> None:
    found = same_batches(rows(base, float, length))
    assert found.same is True
    assert found.hooks == ()
    assert found.hashable is True
    assert found.length == length
    assert 1 <= found.compared <= 2 * MOST_COMPARED


def made(native_ns: int | None) -> BatchInProcess:
    native = None if native_ns is None else NativePart(native_ns, 20, complete=True)
    return BatchInProcess(ns=(10.0,), thread_cpu_ns=10, native=native)


def test_threads_share_only_native_work() -> None:
    assert not is_native(made(None))
    assert not is_native(made(2))
    assert is_native(made(8))


def adapted(base: Any, **more: Any) -> Any:
    module = importlib.import_module("keras.src.trainers.data_adapters.py_dataset_adapter")
    return module.PyDatasetAdapter(rows(base, float, **more))


def context(adapter: Any, *found: object, ms: float = 80, cores: float = 1.0) -> Context:
    return fit_context(alone(ms, cores=cores), *found, kind="PyDataset", adapter=adapter)


PROBES = (
    HandOverOneBatch(),
    MakeInThisThread(),
    MakeTwice(),
    MoreThreadsForWaits(),
    MoreThreadsForWork(),
)


def wanted(given: Context) -> list[str]:
    return [probe.name for probe in PROBES if probe.wanted(given)]


def test_a_fast_loader_and_other_data_are_left_alone(base: Any) -> None:
    adapter = adapted(base)
    assert wanted(context(adapter, ms=1)) == []
    assert wanted(fit_context(alone(80), kind="tf.data", adapter=adapter)) == []
    assert wanted(context(None)) == []


def test_a_loader_that_waits_is_tried_with_threads(base: Any) -> None:
    found = wanted(context(adapted(base), cores=0.1))
    assert found == ["adapter_floor", "in_process", "trial_threads"]


def test_a_loader_that_works_is_tried_with_threads_where_its_work_is_native(
    base: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_threads, "cores_by_affinity", lambda: 4)
    adapter = adapted(base)
    usual = ["adapter_floor", "in_process", "same_batches"]
    assert wanted(context(adapter)) == usual
    assert wanted(context(adapter, made(2))) == usual
    assert wanted(context(adapter, made(8))) == [*usual, "trial_busy_threads"]
    monkeypatch.setattr(worker_threads, "cores_by_affinity", lambda: 1)
    assert wanted(context(adapter, made(8))) == usual


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (adapter_floor, in_process, worker_threads):
        monkeypatch.setattr(module, "SECONDS", 0.05)
    with measuring_with(Patience(0.0)):
        yield


@pytest.mark.usefixtures("briefly")
def test_what_the_probes_find(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "threads_for_waits", lambda: 3)
    given = context(adapted(base))
    assert HandOverOneBatch().run(given).ns
    batch = MakeInThisThread().run(given)
    assert batch.length == 100
    assert batch.payload_bytes > 16
    assert batch.pickle_ns > 0
    assert MakeTwice().run(given).same is True
    threads = MoreThreadsForWaits().run(given)
    assert threads.workers == 3
    assert threads.passes >= 1
    assert given.adapter.py_dataset.workers == 1
    assert MoreThreadsForWork().run(given).workers == cores_by_affinity()
