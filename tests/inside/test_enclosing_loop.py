"""A loop is known by its own instructions, whatever its body calls."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from fitdoctor.inside.ledger.enclosing_loop import (
    EnclosingLoop,
    enclosing_loop,
    is_asking_for_next,
    loops_of,
)


def here() -> EnclosingLoop | None:
    return enclosing_loop(sys._getframe(1))


def test_no_loop_in_the_function_itself() -> None:
    def straight() -> None:
        assert not loops_of(sys._getframe().f_code)

    straight()


def test_two_calls_in_one_body_are_in_the_same_loop() -> None:
    for _ in range(2):
        first = here()
        second = here()
    assert first is not None
    assert second is not None
    assert first.span == second.span
    assert first.span.is_for


def test_the_innermost_loop_counts() -> None:
    for _ in range(1):
        outer = here()
        for _ in range(1):
            inner = here()
    assert outer is not None
    assert inner is not None
    assert outer.span != inner.span
    assert outer.span.begin < inner.span.begin <= inner.span.end < outer.span.end


def test_a_while_is_a_loop_too() -> None:
    count = 0
    while True:
        found = here()
        count += 1
        if count > 2:
            break
    assert found is not None
    assert not found.span.is_for


def test_a_step_in_a_method_belongs_to_the_loop_that_calls_it() -> None:
    class Trainer:
        def step(self) -> EnclosingLoop | None:
            return here()

    for _ in range(1):
        found = Trainer().step()
    assert found is not None
    assert found.frame.f_code is sys._getframe().f_code


def test_waiting_for_a_generator_inside_is_no_loop() -> None:
    def inner() -> Iterator[Any]:
        yield here()

    def outer() -> Iterator[Any]:
        yield from inner()

    (found,) = [next(outer())]
    assert found is None or found.frame.f_code.co_name not in ("inner", "outer")


def test_who_asks_for_the_next_element() -> None:
    asked: list[bool] = []

    class Source:
        def __iter__(self) -> Source:
            return self

        def __next__(self) -> int:
            asked.append(is_asking_for_next(sys._getframe(1)))
            if len(asked) > 2:
                raise StopIteration
            return 1

    for _ in Source():
        pass
    next(Source(), None)
    assert asked == [True, True, True, False]
