"""Batches of a PyDataset that are made twice: the same, or not."""

from __future__ import annotations

import importlib
import random
from typing import Any

import numpy as np
import pytest

from fitdoctor.contract.evidence.loading import BatchInProcess
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.inside.lab.probes.same_batches import MOST_COMPARED, same_batches
from fitdoctor.inside.lab.probes.worker_threads import is_native

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
