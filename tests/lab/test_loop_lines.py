"""A hand-written loop that is only watched: what it reads, its step, and the code between."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fitdoctor.contract.evidence.loop import LoopLines
from fitdoctor.inside.lab.apparatus import loop_lines
from fitdoctor.inside.lab.apparatus.loop_lines import LoopSampler

pytestmark = pytest.mark.measures  # shares of real time

ITERATIONS = 60
# A function that stands in a framework's module.
FRAMEWORK: dict[str, Any] = {"__name__": "keras.src.layers", "time": time}
exec(
    compile("def step(ms): time.sleep(ms / 1000)", "/lib/site-packages/keras/x.py", "exec"),
    FRAMEWORK,
)
step: Callable[[float], None] = FRAMEWORK["step"]


def busy(ms: float) -> int:
    end, count = time.perf_counter() + ms / 1000, 0
    while time.perf_counter() < end:
        count += 1
    return count


def elements(work: Callable[[float], Any], ms: float) -> Iterator[int]:
    for number in range(ITERATIONS):
        work(ms)
        yield number


def reader(number: int) -> int:
    time.sleep(0.005)
    return number


def watched(
    loop: Callable[[Callable[[], None]], None], marked_in: Callable[..., Any] | None = None
) -> LoopLines:
    """What is seen of a loop that calls what it is given once in each of its bodies."""
    found: list[LoopSampler] = []
    code = (marked_in or loop).__code__
    bodies = 0

    def mark() -> None:
        nonlocal bodies
        if not found:
            found.append(LoopSampler(code))
            found[0].begin()
        bodies += 1
        if bodies == ITERATIONS - 3:
            found[0].end()
            found[0].trace()
        elif bodies == ITERATIONS - 2 and found[0].end_trace():
            found[0].trace()
        elif bodies == ITERATIONS - 1:
            found[0].end_trace()

    loop(mark)
    assert sys.gettrace() is None
    assert sys.getprofile() is None
    return found[0].result(bodies)


def shares(seen: LoopLines) -> dict[str, float]:
    parts = {"loading": seen.loading.ns, "step": seen.step.ns, "own": seen.own.ns}
    return {name: ns / sum(parts.values()) for name, ns in parts.items()}


def test_a_loop_that_reads_nothing_has_no_maker() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for _ in range(ITERATIONS):
            step(5)
            mark()

    seen = watched(loop)
    assert seen.maker is None
    assert shares(seen)["step"] > 0.7


def test_own_code_is_neither_step_nor_loading() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for _ in range(ITERATIONS):
            step(1)
            busy(8)
            mark()

    seen = watched(loop)
    assert shares(seen)["own"] > 0.6
    assert seen.own.lines[0][2] == "busy"
    assert seen.maker is None


def test_a_generator_that_waits_is_loading_without_cpu() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for _ in elements(time.sleep, 0.005):
            step(1)
            mark()

    seen = watched(loop)
    assert shares(seen)["loading"] > 0.6
    assert seen.maker[2] == "elements"
    assert seen.loading.cpu_ns < 0.5 * seen.loading.ns


def test_a_generator_that_computes_in_python_uses_the_cpu() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for _ in elements(busy, 8):
            step(1)
            mark()

    seen = watched(loop)
    assert shares(seen)["loading"] > 0.6
    assert seen.loading.cpu_ns > 0.5 * seen.loading.ns
    assert seen.loading.lines[0][2] == "busy"
    # One element was traced: nothing of it was native, and nothing was drawn.
    assert seen.native.events > 100
    assert seen.native.native_ns < 0.5 * seen.native.traced_ns
    assert seen.native.random is False


def test_elements_that_are_asked_for_one_by_one_are_data_where_they_go_into_the_step() -> None:
    def arrays() -> Iterator[Any]:
        for number in range(ITERATIONS + 1):
            yield as_arrays(number)

    def loop(mark: Callable[[], None]) -> None:
        source = arrays()
        while (number := len(seen_numbers)) < ITERATIONS:
            x, _ = next(source)
            step(len(x) / 4)
            seen_numbers.append(number)
            mark()

    seen_numbers: list[int] = []
    seen = watched(loop)
    assert shares(seen)["loading"] > 0.6
    assert seen.maker[2] == "arrays"


def test_what_a_for_calls_is_loading_though_no_generator() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for _ in map(reader, range(ITERATIONS)):
            step(1)
            mark()

    seen = watched(loop)
    assert shares(seen)["loading"] > 0.6
    assert seen.maker[2] == "reader"


def test_the_reading_for_may_stand_in_a_caller() -> None:
    def body(mark: Callable[[], None]) -> None:
        step(1)
        mark()

    def loop(mark: Callable[[], None]) -> None:
        for _ in elements(busy, 6):
            body(mark)

    assert shares(watched(loop))["loading"] > 0.6


def as_lists(number: int) -> list[int]:
    busy(8)
    return [number]


def as_arrays(number: int) -> tuple[Any, Any]:
    busy(8)
    return np.zeros((4, number + 1)), np.zeros(4)


def test_a_function_that_returns_no_arrays_makes_no_data() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for number in range(ITERATIONS):
            x = as_lists(number)
            step(len(x))
            mark()

    assert shares(watched(loop))["loading"] == 0


def test_arrays_that_never_reach_the_step_are_no_data() -> None:
    def loop(mark: Callable[[], None]) -> None:
        seen = 0
        for number in range(ITERATIONS):
            step(1)
            confusion, _ = as_arrays(number)
            seen += len(confusion)
            mark()

    assert shares(watched(loop))["loading"] == 0


def test_a_function_whose_arrays_go_into_the_step_is_loading() -> None:
    def loop(mark: Callable[[], None]) -> None:
        for number in range(ITERATIONS):
            x, _ = as_arrays(number)
            batch = x / 255
            step(len(batch) / 4)
            mark()

    seen = watched(loop)
    assert shares(seen)["loading"] > 0.6
    assert seen.maker[2] == "as_arrays"
    assert seen.native.events > 100


def test_a_loop_that_ends_meanwhile_is_not_watched_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(loop_lines, "LONGEST_NS", 20_000_000)
    before = sys.getswitchinterval()
    lines = LoopSampler(test_a_loop_that_ends_meanwhile_is_not_watched_for_ever.__code__)
    lines.begin()
    assert sys.getswitchinterval() < before
    lines._sampler.join(5)
    assert not lines._sampler.is_alive()
    assert sys.getswitchinterval() == pytest.approx(before)


def test_a_generator_that_trains_is_no_loader() -> None:
    def loop(mark: Callable[[], None]) -> Iterator[int]:
        for number in range(ITERATIONS):
            step(5)
            mark()
            yield number

    def outer(mark: Callable[[], None]) -> None:
        for _ in loop(mark):
            pass

    seen = watched(outer, marked_in=loop)
    assert seen.maker is None
    assert shares(seen)["step"] > 0.7


def test_what_other_loops_of_the_body_go_through_is_no_data() -> None:
    def norms(ms: float) -> Iterator[float]:
        for _ in range(2):
            step(ms)
            yield 1.0

    def loop(mark: Callable[[], None]) -> None:
        total = 0.0
        for _ in range(ITERATIONS):
            for norm in norms(2):
                total += norm
            total += sum(norm for norm in norms(1))
            mark()

    seen = watched(loop)
    assert seen.maker is None
    assert shares(seen)["loading"] == 0
    assert shares(seen)["step"] > 0.6


def test_a_tracer_of_the_users_own_is_left_alone() -> None:
    def mine(*_: Any) -> None:
        return None

    lines = LoopSampler(test_a_tracer_of_the_users_own_is_left_alone.__code__)
    sys.settrace(mine)
    try:
        lines.trace()
        assert sys.gettrace() is mine
        lines.end_trace()
        assert sys.gettrace() is mine
    finally:
        sys.settrace(None)
