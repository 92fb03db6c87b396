"""What grows between two looks is found where the user's code holds it, and nothing else is."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest

from fitdoctor.inside.lab import memory_watch
from fitdoctor.inside.lab.apparatus import growing
from fitdoctor.inside.lab.apparatus.growing import Census
from fitdoctor.inside.lab.memory_watch import MemoryWatch

MB = 2**20


class Buffer:
    def __init__(self) -> None:
        self.capacity = 1000
        self.rows: list[bytes] = []


class Tracker:
    def __init__(self) -> None:
        self.seen: dict[int, bytes] = {}


@pytest.fixture(autouse=True)
def _tests_are_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "is_user_file", lambda file: Path(file) == Path(__file__))


def test_nothing_that_stays_is_named() -> None:
    kept = [bytes(10)] * 50
    census = Census(0)
    assert census.grown(10) == ()
    assert len(kept) == 50


def test_a_local_list_is_named_with_its_line() -> None:
    losses: list[bytes] = [b""]
    census = Census(0)
    for step in range(20):
        loss = bytes(1000 + step)
        losses.append(loss)
    (found,) = census.grown(20)
    assert (found.name, found.kind, found.entries) == ("losses", "list", 1.0)
    assert found.bytes is not None and found.bytes > 1000
    assert found.line is not None
    text = Path(__file__).read_text(encoding="utf-8").splitlines()[found.line - 1]
    assert "losses.append(" in text


def test_an_attribute_is_named_with_its_class() -> None:
    tracker = Tracker()
    census = Census(0)
    for number in range(20):
        tracker.seen[number] = bytes(10)
    (found,) = census.grown(20)
    assert (found.name, found.kind, found.limit) == ("Tracker.seen", "dict", None)


def test_a_buffer_says_its_limit() -> None:
    buffer, last = Buffer(), deque([0], maxlen=500)
    census = Census(0)
    for _ in range(20):
        buffer.rows.append(bytes(10))
        last.append(0)
    assert {one.name: one.limit for one in census.grown(20)} == {"Buffer.rows": 1000, "last": 500}


def test_what_grows_less_often_than_the_steps_is_left_out() -> None:
    epochs: list[int] = [0]
    census = Census(0)
    epochs.extend(range(5))
    assert census.grown(100) == ()


def test_a_library_keeps_its_own_lists_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker()
    monkeypatch.setattr(growing, "is_user_file", lambda _: False)
    census = Census(0)
    tracker.seen.update((number, b"") for number in range(20))
    assert census.grown(20) == ()


class Looks:
    """A process whose memory is what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 100 * MB
        self.censuses = 0
        monkeypatch.setattr(memory_watch, "own_bytes", lambda: self.bytes)
        monkeypatch.setattr(memory_watch, "bytes_in_use", lambda _: None)
        monkeypatch.setattr(memory_watch, "Census", self.census)

    def census(self, steps: int) -> Any:
        self.censuses += 1
        return Census(steps)


def test_nothing_is_searched_while_memory_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, watch = Looks(monkeypatch), MemoryWatch()
    for step in range(50):
        watch.look(1, "torch", step, 0)
    assert looks.censuses == 0
    found = watch.found(1, "torch")
    assert found is not None
    assert len(found.host) == 50
    assert found.device is None
    assert watch.found(2, "torch") is None


def test_what_there_is_is_searched_once_when_memory_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, watch = Looks(monkeypatch), MemoryWatch()
    for step in range(20):
        looks.bytes += 3 * MB
        watch.look(1, "torch", step, 0)
    assert looks.censuses == 1


def test_a_long_run_keeps_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    Looks(monkeypatch)
    watch = MemoryWatch()
    for step in range(5000):
        watch.look(1, "torch", step, 0)
    found = watch.found(1, "torch")
    assert found is not None
    assert len(found.steps) == len(found.host) <= memory_watch.MOST_LOOKS
    assert found.steps[-1] >= 4990
