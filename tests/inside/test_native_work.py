from __future__ import annotations

import hashlib
import sys
import threading
import time
from dataclasses import replace

import pytest

from fitdoctor.analysis.loader import native_share
from fitdoctor.contract.evidence.timing import NativePart
from fitdoctor.inside.ledger.native_work import NativeWork
from fitdoctor.inside.seams.inputs.generators import LOOKED_INTO, TimedSource

BLOCK = b"x" * 2_000_000


def python_work() -> float:
    total = 0.0
    for number in range(20_000):
        total += float(str(number))
    return total


def native_work() -> bytes:
    digest = b""
    for _ in range(10):
        digest = hashlib.sha256(BLOCK + digest).digest()
    return digest


def share_of(function) -> float:
    function()  # memory is touched for the first time
    begin = time.thread_time_ns()
    function()
    untraced = time.thread_time_ns() - begin
    work = NativeWork()
    work.of(function)
    share = native_share(work.to_record(), untraced)
    assert share is not None
    return share


def test_a_python_loop_has_no_native_part() -> None:
    assert share_of(python_work) < 0.3


def test_native_calls_are_seen_inside_a_python_loop() -> None:
    assert share_of(native_work) > 0.7


def test_an_operator_on_arrays_is_native_work() -> None:
    numpy = pytest.importorskip("numpy")
    matrix = numpy.ones((1000, 1000), "float32")

    def multiply() -> None:
        for _ in range(20):
            matrix * matrix  # no call: an operator on one thread

    assert share_of(multiply) > 0.7


def test_the_result_and_the_exception_go_through() -> None:
    assert NativeWork().of(lambda: 5) == 5
    with pytest.raises(StopIteration):
        NativeWork().of(lambda: next(iter(())))
    assert sys.getprofile() is None


def test_a_tracer_that_is_there_is_left_alone() -> None:
    seen = []

    def profile(_frame, event, _arg) -> None:
        seen.append(event)

    work = NativeWork()

    # On a thread of its own: the suite may run under a tracer itself.
    def run() -> None:
        sys.setprofile(profile)
        work.of(native_work)
        assert sys.getprofile() is profile
        sys.setprofile(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen
    assert work.to_record() is None


def test_tracing_ends_after_a_while_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr("fitdoctor.inside.ledger.native_work.LONGEST_TRACE_NS", 100_000)
    work = NativeWork()
    work.of(python_work)
    record = work.to_record()
    assert record is not None
    assert not record.complete
    assert record.events < 20_000


def test_an_interrupted_trace_counts_python_as_slowed_by_it() -> None:
    # 100 ms native of 300 ms traced: the other 200 ms would take 20 ms untraced.
    traced = NativePart(native_ns=100, traced_ns=300, complete=False, events=9)
    assert native_share(traced, 5000.0) == pytest.approx(100 / 120)
    assert native_share(None, 5000.0) is None
    assert native_share(replace(traced, complete=True), 400.0) == 0.25


def test_a_batch_that_was_made_before_tells_nothing() -> None:
    # Keras hands out again, for nothing, what it peeked at before the training.
    traced = NativePart(native_ns=0, traced_ns=120, complete=True, events=14)
    assert native_share(traced, 76_000.0) is None


def test_one_batch_of_a_generator_is_looked_into_and_not_counted() -> None:
    source = TimedSource()
    assert list(source.watch(range(9))) == list(range(9))
    assert source.count == 8
    assert source.native


def test_a_generator_that_ends_where_it_is_looked_into() -> None:
    source = TimedSource()
    assert list(source.watch(range(LOOKED_INTO))) == list(range(LOOKED_INTO))
    assert list(source.watch(range(2))) == [0, 1]


def test_work_that_draws_random_numbers_cannot_be_done_once() -> None:
    numpy = pytest.importorskip("numpy")
    generator = numpy.random.default_rng(0)

    def augmented() -> float:
        return sum(float(generator.normal()) for _ in range(10))

    def parsed() -> float:
        return sum(float(text) for text in ("1", "2", "3"))

    for function, expected in ((augmented, True), (parsed, False)):
        work = NativeWork()
        work.of(function)
        record = work.to_record()
        assert record is not None
        assert record.random is expected


def test_lists_of_numbers_and_back_are_part_of_the_python_loop() -> None:
    numpy = pytest.importorskip("numpy")
    image = numpy.ones((400, 400), "uint8")

    def through_lists() -> None:
        rows = image.tolist()
        small = [[value / 255 for value in row] for row in rows]
        numpy.array(small)

    assert share_of(through_lists) < 0.3


def test_stacking_arrays_is_native_work() -> None:
    numpy = pytest.importorskip("numpy")
    images = [numpy.ones((500, 500), "float32") for _ in range(20)]
    work = NativeWork()
    work.of(lambda: [numpy.array(images) for _ in range(5)])
    assert work.native_ns > 0.7 * work.spent_ns
