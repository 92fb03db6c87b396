from __future__ import annotations

import random
import threading
from typing import ClassVar

import pytest

from fitdoctor.inside.lab.apparatus import windows as windows_module
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.lab.apparatus.windows import (
    Patience,
    Work,
    in_turns,
    measure,
    measuring_with,
)
from fitdoctor.inside.ledger.cpu import CpuUse, CpuWatch
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.randomness import snapshot_python
from fitdoctor.inside.seams.inputs.generators import TimedSource, timed_generator
from fitdoctor.inside.seams.inputs.second_reader import EndlessLoader


class FakeWatch:
    """CPU readings from a list: cores taken by others, window by window."""

    others: ClassVar[list[float]] = []

    def stop(self) -> CpuUse:
        taken = self.others.pop(0) if self.others else 0.0
        return CpuUse(1_000_000 if taken < 0.1 else 9_000_000, 1.0, 0.0, taken)


class FakeTime:
    """Every look at the clock finds it ten microseconds on."""

    def __init__(self) -> None:
        self.looks = 0

    def perf_counter(self) -> float:
        self.looks += 1
        return self.looks * 1e-5


@pytest.fixture
def fake_cpu(monkeypatch: pytest.MonkeyPatch) -> type[FakeWatch]:
    monkeypatch.setattr(windows_module, "time", FakeTime())
    monkeypatch.setattr(windows_module, "CpuWatch", FakeWatch)
    return FakeWatch


def test_disturbed_windows_are_repeated_and_left_out(fake_cpu: type[FakeWatch]) -> None:
    fake_cpu.others = [0.9, 0.9, 0.0, 0.0, 0.0, 0.0]
    found = measure(lambda: None, seconds=0.001, window_s=0.0)
    assert found.is_clean
    assert found.dirty == 2
    assert set(found.ns) == {1_000_000}


def test_without_a_clean_window_the_disturbed_ones_are_used_and_said_to_be(
    fake_cpu: type[FakeWatch],
) -> None:
    fake_cpu.others = [0.9] * 10_000
    found = measure(lambda: None, seconds=0.001, window_s=0.0)
    assert not found.is_clean
    assert found.timed().clean is False


def test_every_window_ends_with_a_synchronisation() -> None:
    waits: list[int] = []
    found = measure(lambda: None, lambda: waits.append(1), seconds=0.01, window_s=0.001)
    assert len(waits) == len(found.ns) + found.dirty


def test_cpu_time_of_this_process_is_not_others() -> None:
    watch = CpuWatch()
    total = sum(i * i for i in range(300_000))
    use = watch.stop()
    assert total and use.own_cores > 0.2


def test_without_patience_disturbed_windows_are_not_repeated(fake_cpu: type[FakeWatch]) -> None:
    fake_cpu.others = [0.9] * 10_000
    with measuring_with(Patience(0.0)):
        few = measure(lambda: None, seconds=0.001, window_s=0.0)
    fake_cpu.others = [0.9] * 10_000
    many = measure(lambda: None, seconds=0.001, window_s=0.0)
    assert len(few.ns) < len(many.ns)


def test_patience_is_spent_by_what_takes_longer_than_planned(fake_cpu: type[FakeWatch]) -> None:
    fake_cpu.others = [0.9] * 10_000
    patience = Patience(1.0)
    with measuring_with(patience):
        measure(lambda: None, seconds=0.001, window_s=0.0)
    assert patience.seconds == pytest.approx(0.998, abs=0.0005)


def test_random_state_is_put_back_also_inside_the_users_data() -> None:
    numpy = pytest.importorskip("numpy")

    class Data:
        def __init__(self) -> None:
            self.rng = numpy.random.default_rng(1)
            self.old = numpy.random.RandomState(2)
            self.plain = random.Random(3)

        def draw(self) -> tuple:
            return (
                self.rng.random(),
                self.old.rand(),
                self.plain.random(),
                random.random(),
                numpy.random.rand(),
            )

    data = Data()
    restore = snapshot_python(data)
    first = data.draw()
    restore()
    assert data.draw() == first


def test_an_endless_loader_makes_new_passes_and_refuses_empty_data() -> None:
    loader = EndlessLoader(lambda: iter([1, 2]))
    assert [next(loader) for _ in range(5)] == [1, 2, 1, 2, 1]
    assert loader.passes == 3
    with pytest.raises(StopIteration):
        next(EndlessLoader(lambda: iter([])))


def test_a_generator_is_timed_and_gives_the_same_elements() -> None:
    source = TimedSource()
    assert list(source.watch(iter("abcdef"))) == list("abcdef")
    assert source.count == 5  # one was looked into, and took longer for it
    assert timed_generator(object()) is None


def test_batches_are_any_nesting_of_leaves() -> None:
    numpy = pytest.importorskip("numpy")
    batch = ({"a": numpy.zeros((4, 2)), "b": [numpy.zeros((4,))]}, numpy.zeros((4, 1)), None)
    assert batches.common_rows(batch) == 4
    cut = batches.map_leaves(lambda leaf: leaf[:2], batch)
    assert batches.common_rows(cut) == 2
    assert cut[2] is None
    assert batches.common_rows((numpy.zeros((4,)), numpy.zeros((5,)))) is None
    assert batches.common_rows((numpy.float32(1.0),)) is None


def test_the_step_function_of_a_loop_is_found_with_its_arguments() -> None:
    pieces: list[object] = []

    def train_step(batch: object, rate: float) -> None:
        pieces.append(batch)

    def body(batch: object) -> None:
        len([batch])
        train_step(batch, 0.1)

    batch = object()
    finder = StepFinder(body.__code__, set(), batch)
    finder.begin()
    try:
        body(batch)
    finally:
        finder.end()
    assert finder.found is not None
    assert finder.found.name == "train_step"
    assert finder.found.arguments == (batch, 0.1)


def test_a_body_that_calls_nothing_of_the_users_finds_nothing() -> None:
    def body(batch: object) -> int:
        return len([batch])

    batch = object()
    finder = StepFinder(body.__code__, set(), batch)
    finder.begin()
    try:
        body(batch)
    finally:
        finder.end()
    assert finder.found is None


def test_the_function_that_was_seen_to_train_is_the_step_whatever_else_gets_the_batch() -> None:
    def helper(batch: object) -> None:
        pass

    def train_step(state: object, rate: float) -> None:
        pass

    def body(batch: object) -> None:
        helper(batch)
        train_step("state", 0.5)

    batch = object()
    finder = StepFinder(body.__code__, {train_step.__code__}, batch)
    finder.begin()
    try:
        body(batch)
    finally:
        finder.end()
    assert finder.found is not None
    assert (finder.found.name, finder.found.arguments) == ("train_step", ("state", 0.5))


def test_threads_left_by_probes_are_gone() -> None:
    from fitdoctor.inside.lab.apparatus.stacks import StackSampler

    before = threading.active_count()
    with StackSampler(period_s=0.001) as sampler:
        sum(i for i in range(200_000))
    assert threading.active_count() == before
    assert sampler.result().samples >= 1


def test_two_kinds_of_work_are_timed_in_turns(fake_cpu: type[FakeWatch]) -> None:
    done: list[str] = []

    def work(name: str) -> Work:
        return Work(lambda: done.append(name))

    first, second = in_turns(work("a"), work("b"), seconds=0.001, window_s=0.0)
    assert "".join(done[:6]) == "abbaab"
    assert len(first.ns) == len(second.ns) >= 3


def test_of_a_disturbed_round_neither_half_is_kept(fake_cpu: type[FakeWatch]) -> None:
    fake_cpu.others = [0.0, 0.9, 0.9, 0.0]  # the second half of one round, the first of the next
    nothing = Work(lambda: None)
    first, second = in_turns(nothing, nothing, seconds=0.001, window_s=0.0)
    assert len(first.ns) == len(second.ns)
    assert set(first.ns) | set(second.ns) == {1_000_000}
    assert first.dirty == second.dirty == 2
