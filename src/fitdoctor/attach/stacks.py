"""Stack samples of another process, as py-spy writes them in speedscope's format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# `Process 18445 Thread 18446 "MainThread"`; without the process where only one was looked at.
_NAME = re.compile(r'(?:Process (?P<pid>\d+) )?Thread (?P<tid>\w+) "(?P<name>.*)"', re.DOTALL)
_LIBRARY = re.compile(r"[\\/](?:site|dist)-packages[\\/]([^\\/]+)")
_STANDARD_LIBRARY = re.compile(r"[\\/]lib[\\/]python3\.\d+t?[\\/]", re.IGNORECASE)
# AutoGraph writes the user's functions to temporary modules: TensorFlow's lines, not the user's.
_AUTOGRAPH = "__autograph_generated_file"
PYTHON = "Python's library"


@dataclass(frozen=True)
class Frame:
    """One function that was running, and the line it stood at."""

    function: str
    file: str
    line: int

    @property
    def library(self) -> str | None:
        """The package that the file belongs to; None for the user's own files.

        Example:
            >>> Frame("fit", "/venv/lib/python3.11/site-packages/keras/src/a.py", 3).library
            'keras'
        """
        if found := _LIBRARY.search(self.file):
            return found[1].removesuffix(".py")
        if self.file.startswith("<ipython-input"):
            return None
        outside = self.file.startswith("<") or not self.file or _AUTOGRAPH in self.file
        return PYTHON if outside or _STANDARD_LIBRARY.search(self.file) else None


Stack = tuple[Frame, ...]


@dataclass(frozen=True)
class ThreadStacks:
    """All samples of one thread; in each stack the outermost frame comes first."""

    pid: int
    is_main: bool
    name: str
    stacks: tuple[Stack, ...]


def thread_stacks(speedscope: dict[str, Any], pid: int) -> list[ThreadStacks]:
    """The threads in a file of py-spy's; `pid` is the process that was asked about."""
    frames = [
        Frame(str(one["name"]), str(one.get("file") or ""), int(one.get("line") or 0))
        for one in speedscope["shared"]["frames"]
    ]
    threads = []
    for profile in speedscope["profiles"]:
        if (found := _NAME.match(profile["name"])) is None:
            continue
        own = int(found["pid"] or pid)
        threads.append(
            ThreadStacks(
                pid=own,
                is_main=own == pid and (found["tid"] == str(pid) or found["name"] == "MainThread"),
                name=found["name"],
                stacks=tuple(tuple(frames[i] for i in one) for one in profile["samples"]),
            )
        )
    return threads
