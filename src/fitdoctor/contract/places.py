"""A place in the user's source, as it crosses the border."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CodeLine:
    """A file and a line in it."""

    file: str
    line: int


@dataclass(frozen=True)
class CallLine:
    """The line of a call, with the name that is called."""

    call: str
    file: str
    line: int


# How often a line was seen: file, line, function, count.
Seen = tuple[str, int, str, int]
