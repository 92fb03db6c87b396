"""The `for` or `while` of the user's source that a running call lies in.

A loop is known by its own instructions, not by the line that calls a step: two compiled functions
in one body, or a step hidden in a method, belong to the same loop.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import NamedTuple

from fitdoctor.inside.ledger.callsite import is_user_file

# Waiting for a coroutine or a sub-generator also jumps back, and is no loop of the user's.
_WAITS = "JUMP_BACKWARD_NO_INTERRUPT"


class LoopSpan(NamedTuple):
    """The instructions of one loop in a code object."""

    begin: int
    end: int
    line: int  # of the `for`, or near the `while`
    is_for: bool


class EnclosingLoop(NamedTuple):
    """A loop, and the frame that runs it."""

    frame: FrameType
    span: LoopSpan


def enclosing_loop(frame: FrameType | None) -> EnclosingLoop | None:
    """The innermost loop around a call, in the nearest function of the user's that has one."""
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            span = span_at(frame.f_code, frame.f_lasti)
            if span is not None:
                return EnclosingLoop(frame, span)
        frame = frame.f_back
    return None


def has_outer_loop(loop: EnclosingLoop) -> bool:
    """Whether a loop lies in another one, in the same function or in one that called it."""
    frame, span = loop
    inside = (one for one in loops_of(frame.f_code) if one.begin < span.begin <= one.end)
    return any(inside) or enclosing_loop(frame.f_back) is not None


def span_at(code: CodeType, offset: int) -> LoopSpan | None:
    """The innermost loop that an instruction lies in."""
    inside = [one for one in loops_of(code) if one.begin <= offset <= one.end]
    return min(inside, key=lambda one: one.end - one.begin, default=None)


def is_asking_for_next(frame: FrameType) -> bool:
    """Whether a frame is at the head of a `for`, which asks its iterator for an element."""
    return _instruction(frame.f_code, frame.f_lasti)[1] == "FOR_ITER"


def instruction_begin(code: CodeType, offset: int) -> int:
    """Where the instruction at an offset begins; specialised ones end in cached data."""
    return _instruction(code, offset)[0]


@functools.lru_cache(maxsize=4096)
def _instruction(code: CodeType, offset: int) -> tuple[int, str]:
    before = [one for one in dis.get_instructions(code) if one.offset <= offset]
    return (before[-1].offset, before[-1].opname) if before else (0, "")


@functools.lru_cache(maxsize=256)
def loops_of(code: CodeType) -> tuple[LoopSpan, ...]:
    """Every loop of a code object: where it jumps back to, and the last jump there.

    Example:
        >>> [one.is_for for one in loops_of(compile("for i in range(3): print(i)", "x", "exec"))]
        [True]
    """
    lines = _lines(code)
    ends: dict[int, int] = {}
    starts: dict[int, str] = {}
    for one in dis.get_instructions(code):
        starts[one.offset] = one.opname
        if "JUMP_BACKWARD" in one.opname and one.opname != _WAITS:
            ends[int(one.argval)] = max(ends.get(int(one.argval), 0), one.offset)
    return tuple(
        LoopSpan(
            begin,
            end,
            min(lines.get(begin, code.co_firstlineno), lines.get(end, code.co_firstlineno)),
            starts.get(begin) == "FOR_ITER",
        )
        for begin, end in sorted(ends.items())
    )


def _lines(code: CodeType) -> dict[int, int]:
    return dict(_offsets_with_lines(code))


def _offsets_with_lines(code: CodeType) -> Iterator[tuple[int, int]]:
    for begin, end, line in code.co_lines():
        if line is not None:
            for offset in range(begin, end, 2):
                yield offset, line
