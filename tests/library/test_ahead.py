"""fitdoctor.read_ahead: the same batches in the same order, made while the last one is used."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

import fitdoctor

np = pytest.importorskip("numpy")


@given(st.lists(st.integers(), max_size=50), st.integers(1, 5))
def test_the_same_batches_in_the_same_order(items: list[int], ahead: int) -> None:
    assert list(fitdoctor.read_ahead(iter(items), ahead)) == items


def test_a_batch_is_made_while_the_last_one_is_used() -> None:
    made = threading.Semaphore(0)

    def batches() -> Iterator[int]:
        for number in range(3):
            made.release()
            yield number

    reading = iter(fitdoctor.read_ahead(batches()))
    assert next(reading) == 0
    # The second and third are made though nobody asked for them.
    assert all(made.acquire(timeout=10) for _ in range(3))
    assert list(reading) == [1, 2]


def test_no_more_are_made_than_may_wait() -> None:
    made: list[int] = []

    def batches() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    reading = iter(fitdoctor.read_ahead(batches(), ahead=2))
    next(reading)
    deadline = time.monotonic() + 10
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert len(made) == 4  # one given, two wait, one is offered


def test_arrays_that_are_used_again_are_copied() -> None:
    def batches() -> Iterator[Any]:
        x, y = np.zeros(3), {"y": np.zeros(1)}
        for number in range(20):
            x[:], y["y"][:] = number, number
            yield x, y

    seen = [(x.tolist(), y["y"].tolist()) for x, y in fitdoctor.read_ahead(batches())]
    assert seen == [([number] * 3, [number]) for number in range(20)]


def test_an_error_comes_where_the_batch_would_have_come() -> None:
    def batches() -> Iterator[int]:
        yield 1
        raise RuntimeError("the server is gone")

    reading = iter(fitdoctor.read_ahead(batches()))
    assert next(reading) == 1
    with pytest.raises(RuntimeError, match="the server is gone"):
        next(reading)


def test_the_thread_ends_when_nobody_reads_on() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 1

    reading = fitdoctor.read_ahead(endless())
    next(iter(reading))
    reading.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 10
    while any(one.name == "fitdoctor.read_ahead" for one in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_nothing_ahead_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one batch"):
        fitdoctor.read_ahead([], 0)
