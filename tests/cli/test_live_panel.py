"""The panel at the foot of a terminal, on a terminal of our own."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest

from fitdoctor.cli.live_panel import Panel


@contextmanager
def terminal(rows: int, columns: int) -> Iterator[tuple[int, TextIO]]:
    outer, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    try:
        with os.fdopen(inner, "w", encoding="utf-8") as stream:
            yield outer, stream
    finally:
        os.close(outer)


def read(outer: int) -> str:
    return os.read(outer, 100_000).decode()


@pytest.mark.parametrize("rows", [0, 5])
def test_a_terminal_that_is_too_low_is_left_alone(rows: int) -> None:
    with terminal(rows, 80) as (outer, stream):
        panel = Panel(stream)
        panel.show(["one", "two", "three"])
        panel.close()
        stream.write("end")
        stream.flush()
        assert read(outer) == "end"


def test_lines_are_cut_and_the_cursor_goes_back() -> None:
    with terminal(24, 40) as (outer, stream):
        panel = Panel(stream)
        panel.show(["x" * 100, "two", "three"])
        first = read(outer)
        assert "\x1b[1;21r" in first  # what the script writes scrolls above the panel
        assert "x" * 39 in first and "x" * 40 not in first
        assert "\x1b[22;1H" in first and "\x1b[24;1H" in first
        assert first.count("\x1b7") == first.count("\x1b8")
        panel.show(["again", "two", "three"])
        again = read(outer)
        assert "\x1b[1;21r" not in again and again.startswith("\x1b7")
        panel.close()
        assert read(outer) == "\x1b7\x1b[r\x1b8\x1b[J"
        panel.close()  # a second time, nothing
        stream.write("end")
        stream.flush()
        assert read(outer) == "end"


def test_a_new_size_makes_new_room() -> None:
    with terminal(24, 80) as (outer, stream):
        panel = Panel(stream)
        panel.show(["one"])
        read(outer)
        fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 30, 80, 0, 0))
        panel.show(["one"])
        assert "\x1b[1;29r" in read(outer)
